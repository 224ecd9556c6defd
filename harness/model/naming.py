"""Names of fake nodes, pools and devices, as in the upstream integration test."""

RUN_LABEL = "flake-hunt/run"
"""Label of all objects of a run and key of its nodes' taint; the value is the run's id."""
NODE_PREFIX = "worker-"


def node(index: int, *, prefix: str = NODE_PREFIX) -> str:
    """Return the name of a node and of its pool: `worker-0`, `worker-1`, …"""
    return f"{prefix}{index}"


def device(node_name: str, index: int) -> str:
    """Return the name of a device: `worker-0-device-000`, …"""
    return f"{node_name}-device-{index:03d}"
