"""Real etcd and Kubernetes control plane binaries as local processes, without containers.

After controller-runtime's envtest. Binaries are found, never downloaded.
"""
