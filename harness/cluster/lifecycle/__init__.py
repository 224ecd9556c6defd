"""Clusters over time: hold one for a run, keep one up, collect its logs, prune.

Starting a particular kind of cluster belongs in its provider, the list of clusters in
`cluster_records`.
"""
