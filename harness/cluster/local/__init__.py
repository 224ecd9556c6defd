"""Real etcd and Kubernetes control plane binaries as local processes, as envtest runs them, without containers.

Choice and download of binaries by the user do not belong here: binaries are found, never fetched.
"""
