"""How the fake world is named: nodes, pools and devices (the names of the upstream integration test)."""


def node(index: int) -> str:
    """The name of a node and of its pool: `worker-0`, `worker-1`, …"""
    return f"worker-{index}"


def device(node_name: str, index: int) -> str:
    """The name of a device: `worker-0-device-000`, …"""
    return f"{node_name}-device-{index:03d}"
