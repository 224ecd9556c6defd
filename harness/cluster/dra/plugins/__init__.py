"""Drivers behind sockets: how kubelets find them, and call them.

After the kubelet's packages `pluginmanager` and `cm/dra/plugin`. Needs the extra `driver`; which
claims are prepared when does not belong here (see `dra.claim_managers`).
"""
