"""The provider of real Kubernetes clusters in a container, through the kind command.

The list of clusters belongs in `cluster_records`.

Contents: `kind_cluster` (the provider), `kind_command`, `kind_config`, `kind_failures`
(explanations), `verification` (of a new cluster's settings), `docker_engine`, `tar_archives`.
"""
