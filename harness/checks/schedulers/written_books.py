"""Reads the books that a Python scheduler left in its steps: its devices and claims at the end."""

from collections.abc import Iterable

import msgspec

from harness.checks import protocol
from harness.history import histories, records

CONTROLLER = "claim-controller"
"""Process of the Python subject that keeps no books."""


class CachedClaim(msgspec.Struct, frozen=True):
    """A claim in the assume cache."""

    uid: str
    version: str
    devices: list[str]
    """`driver/pool/device` of all allocated devices."""


class Books(msgspec.Struct, frozen=True, kw_only=True):
    """The books of one scheduler."""

    devices: set[str]
    """`driver/pool/device` of the devices that count as allocated."""
    claims: dict[str, CachedClaim]
    """The claims in the assume cache, by uid."""
    in_flight: list[str]
    """uids of the claims in flight."""
    ts_ns: int
    """Monotonic time at which they were complete."""


class _Devices(msgspec.Struct):
    devices: list[str]


class _Claims(msgspec.Struct):
    claims: list[CachedClaim]


class _Totals(msgspec.Struct):
    devices: int
    claims: int
    in_flight: list[str]


class BooksOfSchedulers(dict[str, Books | None]):
    """The final books of each Python scheduler, by the name of its process; None: it left none."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "BooksOfSchedulers":
        """Read the steps of the schedulers; the claim controller keeps no books."""
        return cls(read_all(evidence.history, but=CONTROLLER))


def read(steps: Iterable[records.Body]) -> Books | None:
    """Return the books among the steps of a scheduler; None if there are none or a part is missing.

    Steps of another form count as missing.
    """
    try:
        return _read(steps)
    except msgspec.ValidationError:
        return None


def _read(steps: Iterable[records.Body]) -> Books | None:
    devices: set[str] = set()
    claims: dict[str, CachedClaim] = {}
    books = None
    for step in steps:
        match step:
            case records.Step(name="scheduler.books.devices"):
                devices.update(msgspec.convert(step.fields, _Devices).devices)
            case records.Step(name="scheduler.books.claims"):
                claims |= {item.uid: item for item in msgspec.convert(step.fields, _Claims).claims}
            case records.Step(name="scheduler.books"):
                totals = msgspec.convert(step.fields, _Totals)
                if (totals.devices, totals.claims) == (len(devices), len(claims)):
                    books = Books(
                        devices=devices,
                        claims=claims,
                        in_flight=totals.in_flight,
                        ts_ns=step.ts_ns,
                    )
            case _:
                pass
    return books


def read_all(history: histories.History, *, but: str) -> dict[str, Books | None]:
    """Return the books of each process that must leave steps, by name, without the process `but`.

    None: it left no books.
    """
    names = [name for name in history.expected_steps() if not name.startswith(but)]
    return {name: _read_of(history, name) for name in names}


def _read_of(history: histories.History, name: str) -> Books | None:
    reader = history.steps(name)
    return None if reader is None else read(reader)
