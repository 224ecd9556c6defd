"""The DRA test driver: what it prepares, writes and remembers on nodes, and as a program.

Its logic knows nothing of gRPC, so that it also runs inside the fake kubelets and in explored
worlds. The kubelet decides which pods may use a claim (see `dra`).
"""
