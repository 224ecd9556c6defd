"""Known defects: one small class each, overriding one method of the correct code.

A defect's docstring says what was wrong, where, and how it was fixed. A run switches defects on by name; defects of different
parts combine, and so do those of one part as long as they override different methods.
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
    """A known defect: which part of the scheduler it replaces, and by what."""

    part: str
    """The field of schedulers.Parts."""
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
    """The names of all known defects."""
    return tuple(_KNOWN)


def describe(name: str) -> str:
    """What is wrong, in words; UsageError for an unknown name."""
    return inspect.getdoc(_known(name).replacement) or ""


def parts(chosen: Iterable[str]) -> schedulers.SchedulerParts:
    """The scheduler's parts with these defects; UsageError for an unknown name."""
    replaced: dict[str, type[Any]] = {}
    for name in dict.fromkeys(chosen):
        defect = _known(name)
        other = replaced.get(defect.part)
        replaced[defect.part] = (
            type("Combined", (defect.replacement, other), {}) if other else defect.replacement
        )
    return dataclasses.replace(schedulers.SchedulerParts(), **replaced)


def _known(name: str) -> Defect:
    if name not in _KNOWN:
        raise errors.UsageError(
            f"expected a known defect, got {name!r}. Known defects: {', '.join(_KNOWN)}."
            f"{suggestions.did_you_mean(name, _KNOWN)}"
        )
    return _KNOWN[name]
