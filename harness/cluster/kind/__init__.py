"""The provider of real Kubernetes clusters in a container, through the kind command.

The list of clusters belongs in `cluster_records`.

Contents: `api_server_restarts`, `docker_engine`, `kind_capabilities`, `kind_cluster`,
`kind_command`, `kind_config`, `kind_failures`, `node_containers`, `tar_archives`, `verification`.
"""
