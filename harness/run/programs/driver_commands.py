"""The DRA driver of a run: in the process of the kubelets, or behind sockets.

Parsed and checked when the run is planned; `driver_processes` starts it.
"""

import dataclasses
import importlib.util
import pathlib
import shlex
from collections.abc import Mapping, Sequence

from harness import errors, placeholders
from harness.cluster.local import binaries
from harness.model import naming
from harness.run.programs import program_versions
from harness.scenario import pool_specs, specs, subject_specs
from harness.scenario.fault_kinds import lost_nodes

PROCESS = "driver"
"""Name of the first process of the driver; further ones get a number as suffix."""
NODE, DRIVER = "node", "driver"
_OF = "the driver's"
PLACEHOLDERS = (
    "kubeconfig",
    NODE,
    DRIVER,
    "plugins_dir",
    "registry_dir",
    "cdi_dir",
    "state_dir",
)
"""Placeholders in the command of a driver."""
_COMMAND, _FOLDER = "command=", "socket:"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChosenDriver:
    """The driver that a scenario has chosen."""

    is_in_process: bool = False
    is_ours: bool = False
    """The program `flake-hunt part driver`, which the run starts."""
    command: tuple[str, ...] = ()
    """Another program that the run starts; empty: none."""
    registry: str = ""
    """Folder in which drivers register that others have started; empty: the run's own."""
    cdi: str = ""
    """Folder of their CDI files; empty: the default one."""

    def uses(self, placeholder: str) -> bool:
        """Return whether the command has a placeholder."""
        return any(placeholder in placeholders.names(word, of=_OF) for word in self.command)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The nodes and names that one process of the driver serves."""

    process: str
    nodes: tuple[str, ...]
    drivers: tuple[str, ...]


def of(subject: subject_specs.SubjectSpec) -> ChosenDriver:
    """Return what a scenario says of its driver.

    Raises UsageError for a command that is no command line, or has unknown placeholders.
    """
    text = subject.driver
    if text.startswith(_COMMAND):
        return ChosenDriver(command=tuple(_words(text.removeprefix(_COMMAND))))
    if text.startswith(_FOLDER):
        registry, _, cdi = text.removeprefix(_FOLDER).partition(",")
        return ChosenDriver(registry=registry, cdi=cdi)
    return ChosenDriver(is_in_process=text == "in-process", is_ours=text == "socket")


def of_run(scenario: specs.Scenario) -> list[Place]:
    """Return what each process of the driver of a scenario serves; empty: it is no process."""
    pools = scenario.pools
    nodes = [naming.node(index, prefix=pools.node_prefix) for index in range(pools.nodes)]
    reboots = any(isinstance(fault, lost_nodes.RebootNode) for fault in scenario.faults)
    return places(of(scenario.subject), pools, nodes, last_apart=reboots)


def names(pools: pool_specs.PoolsSpec) -> list[str]:
    """Return the names of the drivers of a scenario's devices."""
    return pools.drivers


def places(
    chosen: ChosenDriver,
    pools: pool_specs.PoolsSpec,
    nodes: Sequence[str],
    *,
    last_apart: bool = False,
) -> list[Place]:
    """Return what each process serves that the run starts for the driver; empty: it starts none.

    Without {node} in its command a program serves all nodes, without {driver} all names.
    `last_apart`: our own has another process for the last node.
    """
    if not chosen.is_ours and not chosen.command:
        return []
    by_node = [(node,) for node in nodes] if chosen.uses(NODE) else [tuple(nodes)]
    if chosen.is_ours and last_apart and len(nodes) > 1:
        by_node = [tuple(nodes[:-1]), tuple(nodes[-1:])]
    known = names(pools)
    by_name = [(name,) for name in known] if chosen.uses(DRIVER) else [tuple(known)]
    served = [(part, named) for part in by_node for named in by_name]
    return [
        Place(process=_process(index), nodes=part, drivers=named)
        for index, (part, named) in enumerate(served)
    ]


def require_usable(chosen: ChosenDriver, defects: Sequence[str]) -> None:
    """Raise UsageError for a program or folder that is not there, or defects that it cannot have.

    Raises MissingExtraError if drivers behind sockets cannot be called.
    """
    if not chosen.is_in_process and importlib.util.find_spec("grpc") is None:
        raise errors.MissingExtraError("grpcio", "driver")
    if defects and not (chosen.is_in_process or chosen.is_ours):
        raise errors.UsageError(
            f"expected our own driver for --defect {defects[0]}: leave subject.driver out, or set "
            "it to 'socket'"
        )
    if chosen.command:
        binaries.program(chosen.command[0])
    folder = pathlib.Path(chosen.registry.partition("{")[0] or ".")
    if chosen.registry and not folder.is_dir():
        raise errors.UsageError(
            f"expected a folder in which drivers register for subject.driver, got "
            f"{chosen.registry!r}: start the drivers first, or name another folder"
        )


def version(chosen: ChosenDriver) -> str:
    """Return what the program of the command calls its version; empty if it does not say."""
    return program_versions.of_command(chosen.command) if chosen.command else ""


def filled(chosen: ChosenDriver, values: Mapping[str, str]) -> list[str]:
    """Return the command with its placeholders replaced."""
    program, *rest = chosen.command
    return [str(binaries.program(program)), *(word.format_map(values) for word in rest)]


def _process(index: int) -> str:
    return PROCESS if index == 0 else f"{PROCESS}-{index + 1}"


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise errors.UsageError(
            f"expected a command line in shell syntax for subject.driver, got {text!r} ({error})"
        ) from error
    if not words:
        raise errors.UsageError("expected a program after command= for subject.driver, got none")
    for word in words:
        placeholders.require_known(word, PLACEHOLDERS, of=_OF)
    return words
