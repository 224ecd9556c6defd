"""Clusters over time: holding one for a run, keeping one up, collecting its logs, pruning.

Starting a particular kind of cluster belongs in its provider, the list of clusters in
`cluster_records`.
"""
