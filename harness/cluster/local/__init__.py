"""The provider of real etcd and Kubernetes binaries as local processes, without containers.

After controller-runtime's envtest. Binaries are found, never downloaded.
"""
