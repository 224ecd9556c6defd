"""The values that plug-ins get and return; `harness.api` has these names.

Values only: nothing here reads a file or starts a process.
"""

import dataclasses
import pathlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    import pandas as pd


class Hold(msgspec.Struct, frozen=True, array_like=True):
    """The interval of resourceVersions in which a claim's allocation named a device."""

    device: str
    """`driver/pool/device`"""
    namespace: str
    claim: str
    """Name of the claim."""
    uid: str
    """UID of the claim."""
    pods: list[str]
    """Names of all pods that the claim was reserved for during the hold, sorted."""
    exclusive: bool
    """False for admin access and for a share of the device."""
    shared: bool
    """True for a share of the device, which other claims may share too."""
    from_rv: int
    until_rv: int | None
    """Exclusive; None: to the end of the history."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunView:
    """The view that a check has of a run: a copy of the evidence, which it cannot change."""

    plan: Mapping[str, Any]
    """plan.json: the scenario with its seed and everything resolved."""
    holds: Sequence[Hold]
    """All holds, in the order in which they began."""
    journal: Callable[[str], Iterator[dict[str, Any]]]
    """`journal("observations")` yields the records of a journal in order, as JSON objects, up to
    its first damage: `observations`, `operations`, `steps`, `processes` or `faults`; those of
    several processes one after the other. reports/README.md documents the records."""

    def frame(self) -> "pd.DataFrame":
        """Return the holds as a pandas table, with the fields of `Hold` as its columns."""
        import pandas as pd

        return pd.DataFrame(
            [msgspec.structs.astuple(hold) for hold in self.holds], columns=Hold.__struct_fields__
        ).astype({"from_rv": "int64", "until_rv": "Int64"})


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


class Check(Protocol):
    """A plug-in of the group `flake_hunt.checks`: an object, or a class without arguments."""

    promise: str
    """The guarantee as a clause: `no device is held by two claims at once`"""

    def check(self, run: RunView) -> CheckAnswer:
        """Judge a run by its records alone. Its errors make the run UNKNOWN."""


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
    """For a client of its own, such as kubectl; it may do everything on the cluster."""
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
    """`applied("cordoned", kind="nodes", name="worker-3")` records that it took effect once:
    what was done in words and, if it was done to an object, `kind` (plural), `name`, `namespace`,
    `uid` and `resource_version` of it."""


class Fault(Protocol):
    """A plug-in of the group `flake_hunt.faults`: an object, or a class without arguments."""

    def inject(self, target: FaultTarget) -> None:
        """Break something until `target.wait` returns True, or until it is done; then undo it."""
