"""The evidence of a run as plain values, for checks of other packages."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from harness.checks import protocol
from harness.checks.holds import hold_history
from harness.history import histories, journal_reader

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

    NEEDS: ClassVar[tuple[type, ...]] = (hold_history.HoldHistory,)

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "RunView":
        history = evidence.history
        return cls(
            plan=msgspec.to_builtins(evidence.plan),
            holds=[_plain(hold) for hold in evidence[hold_history.HoldHistory].holds],
            journal=lambda name: (
                msgspec.json.decode(msgspec.json.encode(record))
                for reader in _readers(history, name)
                for record in reader or ()
            ),
        )

    def frame(self) -> "pd.DataFrame":
        """Return the holds as a pandas table, with the fields of `Hold` as its columns."""
        import pandas as pd

        return pd.DataFrame(
            [msgspec.structs.astuple(hold) for hold in self.holds], columns=Hold.__struct_fields__
        ).astype({"from_rv": "int64", "until_rv": "Int64"})


def _plain(hold: hold_history.Hold) -> Hold:
    named = hold.device, hold.namespace, hold.name, hold.uid
    return Hold(*named, sorted(hold.pods), hold.exclusive, hold.shared, hold.from_rv, hold.until_rv)


def _readers(
    history: histories.History, name: str
) -> "Iterator[journal_reader.Reader | list[Any] | None]":
    match name:
        case "observations":
            yield history.observations()
        case "operations":
            for process in [*history.expected_operations(), *history.expected_writes()]:
                yield history.operations(process)
        case "steps":
            yield from map(history.steps, history.expected_steps())
        case "processes":
            yield list(history.processes.records) if history.processes else None
        case "faults":
            yield history.faults()
        case _:
            raise ValueError(
                "expected observations, operations, steps, processes or faults as the name of a "
                f"journal, got {name!r}"
            )
