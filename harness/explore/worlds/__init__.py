"""Small worlds to explore: an in-process API server, nodes, claims, pods, users, and the oracle.

The choice of interleavings belongs in `search`.
"""
