"""ResourceClaims on nodes: the kubelet's DRA manager.

The names and the order of work are those of the kubelet's package `cm/dra`. Watching pods and
reporting their status do not belong here (see `fake_nodes.kubelets`).
"""
