"""Small worlds to explore: an in-process API server, nodes, claims, pods, users, and the oracle that watches commits.

Which interleavings are tried belongs in `search`.
"""
