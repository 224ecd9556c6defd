"""The state of a race at a moment: what is stored, planned, under way and seen."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.checks import verdicts
from harness.report.causes import deciding_writes
from harness.report.replay import watch_positions


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """A version of a claim, as the API server stores it."""

    version: int
    devices: tuple[str, ...]
    """`driver/pool/device`."""
    pods: tuple[str, ...]
    """Names of those that it is reserved for."""
    finalizers: tuple[str, ...]
    is_ending: bool
    """Its deletion was asked for."""
    is_gone: bool

    def words(self, device: str) -> str:
        """Return it in words; `device` is the one that the race is about."""
        if self.is_gone:
            return f"version {self.version}: deleted"
        held = "no device"
        if self.devices:
            held = "the device" if device in self.devices else "another device"
        reserved = f", for {', '.join(self.pods)}" if self.pods else ""
        return f"version {self.version}: {held}{reserved}{', being deleted' * self.is_ending}"


def stored(version: deciding_writes.Version) -> Stored:
    """Return what a version of a claim says; parts that are not of the API are left out."""
    meta, status = (_mapping(version.object.get(key)) for key in ("metadata", "status"))
    allocated = _mapping(_mapping(status.get("allocation")).get("devices"))
    results = [_mapping(item) for item in _list(allocated.get("results"))]
    reserved = [_mapping(item) for item in _list(status.get("reservedFor"))]
    return Stored(
        version=version.resource_version,
        devices=tuple("/".join(str(item.get(key)) for key in _DEVICE) for item in results),
        pods=tuple(str(item.get("name")) for item in reserved[:_PODS_MAX]),
        finalizers=tuple(map(str, _list(meta.get("finalizers")))),
        is_ending=bool(meta.get("deletionTimestamp")),
        is_gone=version.is_gone,
    )


_DEVICE = ("driver", "pool", "device")
_PODS_MAX = 3
"""Pods of a claim that are named."""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """One part of the state, as text."""

    text: str
    kind: str = ""
    """`no`: it is what makes the race; empty otherwise."""


@dataclasses.dataclass(slots=True)
class State:
    """Everything known at a moment of a race; letters stand for its two claims."""

    violation: verdicts.DoubleAllocation
    stored: dict[str, Stored] = dataclasses.field(default_factory=dict)
    newest: int = 0
    """The newest version of any claim."""
    planned: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    """Process and letter of the claims in flight with the device."""
    books: set[str] = dataclasses.field(default_factory=set)
    """Processes that have the device among the allocated ones."""
    under_way: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    """Process and letter of the status writes without an answer so far."""
    ended: set[str] = dataclasses.field(default_factory=set)
    """Processes that do not run any more."""

    def end(self, process: str) -> None:
        """Forget what a process knew that has ended; its writes may still be under way."""
        self.ended.add(process)
        self.books.discard(process)
        self.planned = {item for item in self.planned if item[0] != process}

    def claim(self, letter: str) -> Cell:
        """Return what the API server stores of a claim."""
        known = self.stored.get(letter)
        return Cell(known.words(self.violation.device) if known else "not there")

    def device(self) -> Cell:
        """Return the claims that hold the device, according to the API server."""
        held = [
            letter
            for letter, known in sorted(self.stored.items())
            if self.violation.device in known.devices and not known.is_gone
        ]
        return Cell(_claims(held) or "no claim", "no" if len(held) > 1 else "")

    def in_flight(self) -> Cell:
        """Return the claims for which a scheduler has planned the device."""
        return Cell(self._by_process(self.planned) or "no claim")

    def allocated(self) -> Cell:
        """Return whether the schedulers have the device among the allocated ones."""
        several = {process for process, _ in self.planned} | self.books
        names = f": {', '.join(sorted(self.books))}" if len(several) > 1 else ""
        return Cell(f"yes{names}" if self.books else "no")

    def writes(self) -> Cell:
        """Return the claims whose status write has no answer so far."""
        return Cell(self._by_process(self.under_way) or "none")

    def watch(self, positions: watch_positions.WatchPositions, ts_ns: int) -> Cell:
        """Return how far the watches of the schedulers were; marked if one lacks what counts."""
        running = [name for name in positions.processes if name not in self.ended]
        first = self.stored.get("A")
        holds = bool(first and self.violation.device in first.devices and not first.is_gone)
        texts, kind = [], ""
        for name in running:
            position = positions.at(name, ts_ns)
            text = position.words(self.newest)
            if holds and position.lacks(self.violation.holders[0].held_from_rv):
                text, kind = f"{text}: not the allocation of claim A", "no"
            texts.append(f"{name}: {text}" if len(running) > 1 else text)
        return Cell("; ".join(texts) or "no scheduler watches", kind)

    def _by_process(self, items: set[tuple[str, str]]) -> str:
        processes = sorted({process for process, _ in items})
        named = [(name, sorted(letter for of, letter in items if of == name)) for name in processes]
        if len(named) == 1:
            return _claims(named[0][1])
        return "; ".join(f"{name}: {_claims(letters)}" for name, letters in named)


def _claims(letters: Sequence[str]) -> str:
    names = f"claim{'s' * (len(letters) > 1)} {' and '.join(letters)}"
    return names if letters else ""


def differing(before: Stored | None, after: Stored, device: str) -> Iterator[str]:
    """Yield what a version of a claim says that the one before did not, each as a predicate."""
    if after.is_gone:
        yield "is deleted"
        return
    if before is None:
        yield "is created"
    had, has = (before.devices if before else ()), after.devices
    if device in has and device not in had:
        yield "gets the device"
    elif device in had and device not in has:
        yield "gives the device back"
    elif had != has:
        yield "gets another device" if has else "gives another device back"
    if after.is_ending and not (before and before.is_ending):
        yield "is to be deleted"
    added = [name for name in after.pods if before is None or name not in before.pods]
    left = [name for name in (before.pods if before else ()) if name not in after.pods]
    if added:
        yield f"is reserved for {', '.join(added)}"
    if left:
        yield f"is no longer reserved for {', '.join(left)}"
    if before is not None and before.finalizers != after.finalizers:
        yield "has other finalizers"
