"""The protocol between a kubelet and DRA drivers: gRPC on unix sockets.

The work of kubelets and drivers does not belong here. `preparations` and `socket_paths` import no
gRPC; the other modules need the extra `driver`.
"""
