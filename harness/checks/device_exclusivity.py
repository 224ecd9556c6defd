"""The check this project exists for: no device is held by two claims at once.

The API server does not compare claims with each other; only the scheduler's own bookkeeping
prevents double allocations. A hold begins with the commit that writes the device into the claim's
`status.allocation` and ends with the commit that removes it or deletes the claim.

Shares of a device that its slice offers for sharing may overlap with each other, but not with a
claim that holds the device for itself. Shares of any other device are holds like all others.
Results with admin access may overlap with everything and are ignored.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from harness.checks import verdicts
from harness.checks.holds import hold_conflicts, hold_history

NAME = "device_exclusivity"
PROMISE = "no device is held by two claims at once"
IN_FULL_MAX = 20
"""Double allocations listed in full; the longest and the last one may come on top."""
OTHERS_MAX = 200
"""Double allocations listed by their summaries."""


def check(
    history: hold_history.HoldHistory, is_shareable: Callable[[str], bool | None]
) -> verdicts.CheckResult:
    """Return INVALID with the double allocations, VALID without any, UNKNOWN without any hold.

    `is_shareable` tells whether slices let claims share a device; None: no slice has the device,
    and its shares are not examined.
    """
    alone, shares = _divided(history.holds, is_shareable)
    contended = {hold.device for hold in alone}
    holds = [*alone, *(hold for hold in shares if hold.device in contended)]
    table = frame(holds, end_rv=history.last_rv + 1)
    found = hold_conflicts.HoldConflicts(table, np.arange(len(holds)) >= len(alone))
    violations = [_describe(holds[a], holds[b]) for a, b in _in_full(found)]
    examined = [*alone, *shares]
    return verdicts.CheckResult(
        check=NAME,
        promise=PROMISE,
        verdict=_verdict(len(examined), found.total),
        examined_count=len(examined),
        violation_count=found.total,
        violations=violations,
        others=_others(holds, found, {violation.summary for violation in violations}),
        reason=_reason(examined, found),
    )


def _divided(
    holds: Iterable[hold_history.Hold], is_shareable: Callable[[str], bool | None]
) -> tuple[list[hold_history.Hold], list[hold_history.Hold]]:
    """Return the holds that let no other claim have the device, and the proper shares."""
    alone, shares = [], []
    for hold in holds:
        if hold.exclusive or (hold.shared and is_shareable(hold.device) is False):
            alone.append(hold)
        elif hold.shared and is_shareable(hold.device):
            shares.append(hold)
    return alone, shares


def frame(holds: Sequence[hold_history.Hold], *, end_rv: int) -> pd.DataFrame:
    """Return a table with one row for each hold.

    Columns: `device` and `uid` (categorical), `from_rv` and `until_rv` (int64; `end_rv` for holds
    that never end).
    """
    return pd.DataFrame(
        {
            "device": pd.Categorical([hold.device for hold in holds]),
            "uid": pd.Categorical([hold.uid for hold in holds]),
            "from_rv": np.array([hold.from_rv for hold in holds], dtype=np.int64),
            "until_rv": np.array(
                [end_rv if hold.until_rv is None else hold.until_rv for hold in holds],
                dtype=np.int64,
            ),
        }
    )


def _verdict(examined: int, violations: int) -> verdicts.Verdict:
    if violations:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if examined else verdicts.Verdict.UNKNOWN


def _in_full(found: hold_conflicts.HoldConflicts) -> list[hold_conflicts.Pair]:
    """Return the first conflicts, the longest and the last one, in order."""
    chosen = dict.fromkeys(found.first(IN_FULL_MAX))
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


def _others(
    holds: Sequence[hold_history.Hold], found: hold_conflicts.HoldConflicts, listed: set[str]
) -> list[str]:
    pairs = found.first(IN_FULL_MAX + OTHERS_MAX)
    lines = (_summary(holds[first], holds[second]) for first, second in pairs)
    return list(itertools.islice((line for line in lines if line not in listed), OTHERS_MAX))


def _reason(examined: Sequence[hold_history.Hold], found: hold_conflicts.HoldConflicts) -> str:
    if not examined:
        return "no exclusive allocation of any device was observed, so nothing was examined"
    shared = sum(hold.shared and not hold.exclusive for hold in examined)
    among = _counted(len(examined), "allocation")
    among += f" ({_counted(shared, 'share')})" if shared else ""
    among += f" of {_counted(len({hold.device for hold in examined}), 'device')}"
    if not found.total:
        return f"{among}; no device was held by two claims at once"
    return (
        f"{_counted(found.total, 'double allocation')} of {_counted(found.devices, 'device')} "
        f"among {among}"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
