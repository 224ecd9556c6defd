"""Names of fake nodes, pools and devices, as in the upstream integration test, and of processes."""

from typing import Literal

RUN_LABEL = "flake-hunt/run"
"""Label of all objects of a run and key of its nodes' taint; the value is the run's id."""
NODE_PREFIX = "worker-"
CLAIM_CONTROLLER: Literal["claim-controller"] = "claim-controller"
"""Process name of the claim controller, and the subcommand that runs ours."""
SCRIPT = "script"
"""Name of the process that plays a script, of its fault in plan and record, and of its files."""
_MANAGER_PREFIX = "flake-hunt-"


def node(index: int, *, prefix: str = NODE_PREFIX) -> str:
    """Return the name of a node and of its pool: `worker-0`, `worker-1`, …"""
    return f"{prefix}{index}"


def device(node_name: str, index: int) -> str:
    """Return the name of a device: `worker-0-device-000`, …"""
    return f"{node_name}-device-{index:03d}"


def incarnation(process: str, number: int) -> str:
    """Return the name of a process that was started for the n-th time: `kubelet`, `kubelet.2`, …"""
    return process if number == 1 else f"{process}.{number}"


def first_incarnation(process: str) -> str:
    """Return the name under which a process was started first: `kubelet` for `kubelet.2`."""
    return process.partition(".")[0]


def scheduler(index: int) -> str:
    """Return the name of a scheduler's process and log: `scheduler`, `scheduler-2`, …"""
    return "scheduler" if index == 0 else f"scheduler-{index + 1}"


def traffic(index: int) -> str:
    """Return the name of a process of the load, and of its journal: `traffic-0`, `traffic-1`, …"""
    return f"traffic-{index}"


def field_manager(process: str) -> str:
    """Return the User-Agent of a process of ours, by which the API server names its writes."""
    return f"{_MANAGER_PREFIX}{process}"


def process_of(manager: str) -> str:
    """Return the process of ours with this field manager; empty if it is none of them."""
    return manager.removeprefix(_MANAGER_PREFIX) if manager.startswith(_MANAGER_PREFIX) else ""
