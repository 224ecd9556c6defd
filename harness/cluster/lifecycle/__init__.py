"""Clusters over time: clusters held for later commands, pruning, collected logs.

How a kind of cluster is started belongs to its provider; what was made on this machine is recorded by `cluster_records`.
"""
