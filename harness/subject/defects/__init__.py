"""Known defects of the scheduler: small classes that override one method of correct code.

The class docstring of a defect says what is wrong, in which versions, and how it was fixed. A run
enables defects by name. Defects of different parts can be combined, and so can those of one part if
they override different methods.

Contents: `assume_cache_early_return`, `assume_cache_shared_drain`, `gather_not_atomic`,
`in_flight_removed_first`, `revision_bumped_late`, `revision_compared_early`.
"""

import dataclasses
import inspect
from collections.abc import Iterable
from typing import Any

from harness import errors, suggestions
from harness.subject import schedulers
from harness.subject.defects import (
    assume_cache_early_return,
    assume_cache_shared_drain,
    gather_not_atomic,
    in_flight_removed_first,
    revision_bumped_late,
    revision_compared_early,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Defect:
    """A known defect: the part of the scheduler that it replaces, and the replacement."""

    part: str
    """The field of `schedulers.SchedulerParts`."""
    replacement: type[Any]


_KNOWN = {
    "assume-cache-early-return": Defect(
        "assume_cache", assume_cache_early_return.EarlyReturnAssumeCache
    ),
    "assume-cache-shared-drain": Defect(
        "assume_cache", assume_cache_shared_drain.SharedDrainAssumeCache
    ),
    "gather-not-atomic": Defect("gatherer", gather_not_atomic.NotAtomicGatherer),
    "in-flight-removed-first": Defect("plugin", in_flight_removed_first.RemovedFirstPlugin),
    "revision-bumped-late": Defect("allocated", revision_bumped_late.BumpedLateDevices),
    "revision-compared-early": Defect("gatherer", revision_compared_early.ComparedEarlyGatherer),
}


def names() -> tuple[str, ...]:
    """Return the names of all known defects."""
    return tuple(_KNOWN)


def describe(name: str) -> str:
    """Return the description of a defect.

    Raises UsageError for an unknown name.
    """
    return inspect.getdoc(_known(name).replacement) or ""


def parts(chosen: Iterable[str]) -> schedulers.SchedulerParts:
    """Return the scheduler's parts with the chosen defects.

    Raises UsageError for an unknown name.
    """
    replaced: dict[str, type[Any]] = {}
    for name in dict.fromkeys(chosen):
        defect = _known(name)
        other = replaced.get(defect.part)
        replaced[defect.part] = (
            type("Combined", (defect.replacement, other), {}) if other else defect.replacement
        )
    return dataclasses.replace(schedulers.SchedulerParts(), **replaced)


def require_known(chosen: Iterable[str]) -> None:
    """Raise UsageError for an unknown name."""
    for name in chosen:
        _known(name)


def _known(name: str) -> Defect:
    if name not in _KNOWN:
        raise errors.UsageError(
            f"expected a known defect, got {name!r}. Known defects: {', '.join(_KNOWN)}."
            f"{suggestions.did_you_mean(name, _KNOWN)}"
        )
    return _KNOWN[name]
