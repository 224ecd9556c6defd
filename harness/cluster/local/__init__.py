"""The provider of real etcd and Kubernetes binaries as local processes, without containers.

After controller-runtime's envtest. Binaries are found, never downloaded.

Contents: `local_cluster` (the provider), `binaries`, `control_plane` (command lines),
`local_files`.
"""
