"""Small worlds to explore: each has its objects, its actors, what happens, and its oracles.

The choice of interleavings belongs in `search`.
"""
