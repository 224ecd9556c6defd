"""The check this project exists for: no device is held by two claims at once.

The API server does not compare claims with each other; only the scheduler's own bookkeeping
prevents double allocations. A hold begins with the commit that writes the device into the claim's
`status.allocation` and ends with the commit that removes it or deletes the claim.

Shares of a device that its slice offers for sharing may overlap with each other, but not with a
claim that holds the device for itself. Shares of any other device are holds like all others.
Results with admin access may overlap with everything and are ignored.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from harness.checks import check_results, verdicts
from harness.checks.holds import hold_arrays, hold_conflicts, hold_history

NAME = "device_exclusivity"
PROMISE = "no device is held by two claims at once"


def check(
    history: hold_history.HoldHistory, is_shareable: Callable[[str], bool | None]
) -> verdicts.CheckResult:
    """Return INVALID with the double allocations, VALID without any, UNKNOWN without any hold.

    `is_shareable` tells whether slices let claims share a device; None: no slice has the device,
    and its shares are not examined.
    """
    holds = history.holds.arrays(end_rv=history.last_rv + 1)
    alone, shares = _divided(holds, is_shareable)
    rows = np.concatenate([np.flatnonzero(alone), np.flatnonzero(shares)])
    examined = holds if alone.all() else holds.at(rows)
    flags = np.arange(len(rows)) >= np.count_nonzero(alone)
    found = hold_conflicts.HoldConflicts(examined, flags)
    shown = _Shown(history.holds, rows)
    violations = [_describe(*shown.pair(pair)) for pair in _in_full(found)]
    return verdicts.CheckResult(
        check=NAME,
        promise=PROMISE,
        verdict=_verdict(len(rows), found.total),
        examined_count=len(rows),
        violation_count=found.total,
        violations=violations,
        others=_others(shown, found, {violation.summary for violation in violations}),
        reason=_reason(examined, found),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Shown:
    """The holds that are shown, by their rows among the examined ones."""

    holds: Sequence[hold_history.Hold]
    rows: hold_arrays.Integers

    def pair(self, pair: hold_conflicts.Pair) -> tuple[hold_history.Hold, hold_history.Hold]:
        first, second = (self.holds[int(self.rows[row])] for row in pair)
        return first, second


def _divided(
    holds: hold_arrays.HoldArrays, is_shareable: Callable[[str], bool | None]
) -> tuple[hold_arrays.Flags, hold_arrays.Flags]:
    """Flag the holds that let no other claim have the device, and the proper shares."""
    shared = holds.shared & ~holds.exclusive
    names = holds.device_names
    offered, refused = np.zeros(len(names), dtype=bool), np.zeros(len(names), dtype=bool)
    for device in np.flatnonzero(np.bincount(holds.device[shared])).tolist():
        answer = is_shareable(names[device])
        offered[device], refused[device] = answer is True, answer is False
    return holds.exclusive | (shared & refused[holds.device]), shared & offered[holds.device]


def _verdict(examined: int, violations: int) -> verdicts.Verdict:
    if violations:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if examined else verdicts.Verdict.UNKNOWN


def _in_full(found: hold_conflicts.HoldConflicts) -> list[hold_conflicts.Pair]:
    """Return the first conflicts, the longest and the last one, in order."""
    chosen = dict.fromkeys(found.first(check_results.IN_FULL_MAX))
    for pair in (found.longest(), found.last()):
        if pair is not None:
            chosen[pair] = None
    return list(chosen)


def _describe(first: hold_history.Hold, second: hold_history.Hold) -> verdicts.DoubleAllocation:
    ends = [hold.until_rv for hold in (first, second) if hold.until_rv is not None]
    until = min(ends, default=None)
    versions = {first.from_rv, second.from_rv, *(() if until is None else (until,))}
    pods = {(hold.namespace, pod) for hold in (first, second) for pod in hold.pods}
    return verdicts.DoubleAllocation(
        guarantee=NAME,
        summary=_summary(first, second),
        text=_text(first, second, until),
        resource_versions=sorted(versions),
        objects=[
            *(verdicts.involved_claim(hold) for hold in (first, second)),
            *(
                verdicts.InvolvedObject(kind="Pod", namespace=namespace, name=name, uid="")
                for namespace, name in sorted(pods)
            ),
        ],
        device=first.device,
        overlap_from_rv=second.from_rv,
        overlap_until_rv=until,
        holders=[_holder(first), _holder(second)],
    )


def _holder(hold: hold_history.Hold) -> verdicts.Holder:
    return verdicts.Holder(
        uid=hold.uid,
        namespace=hold.namespace,
        name=hold.name,
        held_from_rv=hold.from_rv,
        held_until_rv=hold.until_rv,
        pods=sorted(hold.pods),
        allocated_ts_ns=hold.from_ts_ns,
        released_ts_ns=hold.until_ts_ns,
    )


def _summary(first: hold_history.Hold, second: hold_history.Hold) -> str:
    return f"{first.device}: {first.name} and {second.name} from version {second.from_rv}"


def _text(first: hold_history.Hold, second: hold_history.Hold, until: int | None) -> str:
    end = "to the end of the history" if until is None else f"until resourceVersion {until}"
    again = "a share of it" if second.shared and not second.exclusive else "again"
    what = "A share of device" if first.shared and not first.exclusive else "Device"
    return (
        f"{what} {first.device} was allocated to claim {_named(first)} at resourceVersion "
        f"{first.from_rv}, and {again} to claim {_named(second)} at resourceVersion "
        f"{second.from_rv}, while the first still held it; both held it {end}. "
        f"Pods: {_pods(first)} and {_pods(second)}."
    )


def _named(hold: hold_history.Hold) -> str:
    return f"{hold.namespace}/{hold.name} (uid {hold.uid})"


def _pods(hold: hold_history.Hold) -> str:
    return ", ".join(sorted(hold.pods)) or "none yet"


def _others(shown: _Shown, found: hold_conflicts.HoldConflicts, listed: set[str]) -> list[str]:
    pairs = found.first(check_results.IN_FULL_MAX + check_results.OTHERS_MAX)
    lines = (_summary(*shown.pair(pair)) for pair in pairs)
    return list(
        itertools.islice((line for line in lines if line not in listed), check_results.OTHERS_MAX)
    )


def _reason(examined: hold_arrays.HoldArrays, found: hold_conflicts.HoldConflicts) -> str:
    if not len(examined):
        return "no exclusive allocation of any device was observed, so nothing was examined"
    shared = int((examined.shared & ~examined.exclusive).sum())
    among = _counted(len(examined), "allocation")
    among += f" ({_counted(shared, 'share')})" if shared else ""
    among += f" of {_counted(examined.device_count, 'device')}"
    if not found.total:
        return f"{among}; no device was held by two claims at once"
    doubles = _counted(found.total, "double allocation")
    doubles += verdicts.meant_pairs(found.total, len(examined))
    return f"{doubles} of {_counted(found.devices, 'device')} among {among}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
