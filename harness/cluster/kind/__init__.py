"""The provider of real Kubernetes clusters in a container, through the kind command.

The list of clusters belongs in `cluster_records`.
"""
