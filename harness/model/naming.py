"""How the fake world is named: nodes, pools and devices (the names of the upstream integration test)."""

RUN_LABEL = "flake-hunt/run"
"""The label of everything that a run creates, and the key of its nodes' taint; the value is the run's id."""
NODE_PREFIX = "worker-"


def node(index: int, *, prefix: str = NODE_PREFIX) -> str:
    """The name of a node and of its pool: `worker-0`, `worker-1`, …"""
    return f"{prefix}{index}"


def device(node_name: str, index: int) -> str:
    """The name of a device: `worker-0-device-000`, …"""
    return f"{node_name}-device-{index:03d}"
