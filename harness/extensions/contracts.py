"""The values that plug-ins get and return; `harness.api` has these names.

Values only: nothing here reads a file or starts a process. The
form of a check is in `checks.protocol`.
"""

import dataclasses
import pathlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


@dataclasses.dataclass(frozen=True, kw_only=True)
class InvolvedObject:
    """An API object that takes part in a violation."""

    kind: str
    """`ResourceClaim`, `Pod`, …"""
    name: str
    namespace: str = ""
    uid: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Violation:
    """One piece of evidence that a guarantee is broken."""

    summary: str
    """One short line."""
    text: str = ""
    """Full account for people; empty: the summary says all."""
    resource_versions: Sequence[int] = ()
    """The commits that show it."""
    objects: Sequence[InvolvedObject] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckAnswer:
    """The result of a check. Without violations, the guarantee holds for what was examined."""

    examined: int
    """Number of things examined; 0: the run says nothing about the guarantee."""
    violations: Sequence[Violation] = ()
    reason: str = ""
    """One line with figures; empty: the numbers of both."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Subject:
    """A plug-in of the group `flake_hunt.subjects`: how a scheduler is started."""

    command: Sequence[str]
    """Program and arguments; {kubeconfig}, {scheduler_name}, {namespace}, {log_dir}, {run_id} and
    {seed} are replaced. It runs in the current folder."""
    version_command: Sequence[str] = ()
    """Command that prints the version; empty: unknown."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FaultTarget:
    """The run as a fault sees it: its cluster, and when the fault has to end."""

    kubeconfig: pathlib.Path
    """Kubeconfig for a client of the fault's own, such as kubectl; it may do everything on the
    cluster."""
    request: Callable[..., dict[str, Any]]
    """`request("PATCH", "/api/v1/nodes/worker-0", body)` returns the answer of the API server;
    `body` None: none. Patches are merge patches. Raises `Error` for an error."""
    namespace: str
    """Namespace of the run's pods and claims."""
    random: random.Random
    """Random numbers from the run's seed."""
    parameters: Mapping[str, Any]
    """The fault's `parameters` in the scenario."""
    wait: Callable[[float], bool]
    """`wait(seconds)` returns True if the fault has to end now, False after that time."""
    applied: Callable[..., None]
    """`applied("cordoned", kind="nodes", name="worker-3")` records that it took effect once: what
    was done as text and, if it was done to an object, `kind` (plural), `name`, `namespace`, `uid`
    and `resource_version` of it."""


class Fault(Protocol):
    """A plug-in of the group `flake_hunt.faults`: an object, or a class without arguments."""

    def inject(self, target: FaultTarget) -> None:
        """Break something until `target.wait` returns True, or until it is done; then undo it."""
