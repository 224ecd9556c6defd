"""The DRA driver of a run: in the process of the kubelets, or behind sockets.

Parsed and checked when the run is planned; `driver_processes` starts it.
"""

import dataclasses
import importlib.util

from harness import errors, placeholders
from harness.cluster.local import binaries
from harness.model import naming
from harness.scenario import specs, subject_specs
from harness.scenario.fault_kinds import stopped_processes

PROCESS = "driver"
"""Name of the first process of the driver; further ones get a number as suffix."""
_OF = "the driver's"
PLACEHOLDERS = (
    "kubeconfig",
    "node",
    "driver",
    "plugins_dir",
    "registry_dir",
    "cdi_dir",
    "state_dir",
)
_COMMAND = "command="


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChosenDriver:
    """The driver that a scenario has chosen."""

    is_in_process: bool = False
    is_ours: bool = False
    """The program `flake-hunt part driver`, which the run starts."""
    command: tuple[str, ...] = ()
    """Another program that the run starts; empty: none."""

    def uses(self, placeholder: str) -> bool:
        return any(placeholder in placeholders.names(word, of=_OF) for word in self.command)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The nodes and names that one process of the driver serves."""

    process: str
    nodes: tuple[str, ...]
    drivers: tuple[str, ...]


def of(subject: subject_specs.SubjectSpec) -> ChosenDriver:
    """Return what a scenario says of its driver; raise UsageError for a wrong command."""
    text = subject.driver
    if text.startswith(_COMMAND):
        words = placeholders.command(text.removeprefix(_COMMAND), PLACEHOLDERS, of=_OF)
        return ChosenDriver(command=tuple(words))
    return ChosenDriver(is_in_process=text == "in-process", is_ours=text == "socket")


def of_run(scenario: specs.Scenario) -> list[Place]:
    """Return what each process of the driver serves; empty: it has no process of its own.

    Without {node} in its command a program serves all nodes, without {driver} all names. Our own
    has another process for a node that is rebooted.
    """
    chosen, pools = of(scenario.subject), scenario.pools
    if chosen.is_in_process:
        return []
    nodes = tuple(naming.node(index, prefix=pools.node_prefix) for index in range(pools.nodes))
    by_node = [(node,) for node in nodes] if chosen.uses("node") else [nodes]
    reboots = any(isinstance(fault, stopped_processes.RebootNode) for fault in scenario.faults)
    if chosen.is_ours and reboots and len(nodes) > 1:
        by_node = [nodes[:-1], nodes[-1:]]
    known = pools.drivers
    by_name = [(name,) for name in known] if chosen.uses("driver") else [tuple(known)]
    served = [(part, named) for part in by_node for named in by_name]
    return [
        Place(process=f"{PROCESS}-{number}" if number > 1 else PROCESS, nodes=part, drivers=named)
        for number, (part, named) in enumerate(served, start=1)
    ]


def require_usable(chosen: ChosenDriver) -> None:
    """Raise UsageError for what is not there, MissingExtraError without gRPC for sockets."""
    if not chosen.is_in_process and importlib.util.find_spec("grpc") is None:
        raise errors.MissingExtraError("grpcio", "driver")
    if chosen.command:
        binaries.program(chosen.command[0])
