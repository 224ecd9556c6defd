"""The `kind` provider: real Kubernetes in a container, through the kind command.

The list of clusters belongs in `cluster_records`.
"""
