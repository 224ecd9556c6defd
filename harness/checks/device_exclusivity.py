"""The check this project exists for: no device is held by two claims at once, at any moment of the history.

The API server never compares claims with each other: nothing but the scheduler's own bookkeeping prevents it. A hold begins
with the commit that writes the device into a claim's status.allocation and ends with the one that takes it out, or with the
claim. Admin access and shares of a device are meant to overlap and are left out.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.checks import hold_history, overlapping, verdicts

NAME = "device_exclusivity"
IN_FULL_MAX = 20
OTHERS_MAX = 200


def check(folded: hold_history.HoldHistory) -> verdicts.CheckResult:
    """INVALID with the double allocations, VALID when there are none, UNKNOWN when no hold was seen."""
    holds = [hold for hold in folded.holds if hold.exclusive]
    table = frame(holds, end_rv=folded.last_rv + 1)
    found = conflicts(table)
    violations = [_describe(holds[a], holds[b]) for a, b in _in_full(found)]
    listed = {_short(violation) for violation in violations}
    return verdicts.CheckResult(
        check=NAME,
        verdict=_verdict(len(holds), len(found)),
        examined_count=len(holds),
        violation_count=len(found),
        violations=violations,
        others=_others(holds, found, listed),
        reason=_reason(len(holds), table, found),
    )


def frame(holds: Sequence[hold_history.Hold], *, end_rv: int) -> pd.DataFrame:
    """One row for each hold: device and uid (category codes), from_rv, until_rv (`end_rv` when it goes on)."""
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


def conflicts(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each pair of overlapping holds of one device by different claims: first, second, from_rv, until_rv."""
    found = overlapping.overlaps(
        table["device"].cat.codes.to_numpy().astype(np.int64),
        table["from_rv"].to_numpy(),
        table["until_rv"].to_numpy(),
    )
    uids, until = table["uid"].cat.codes.to_numpy(), table["until_rv"].to_numpy()
    differs = uids[found.first] != uids[found.second]
    first, second = found.first[differs], found.second[differs]
    pairs = pd.DataFrame(
        {
            "first": first,
            "second": second,
            "from_rv": table["from_rv"].to_numpy()[second],
            "until_rv": np.minimum(until[first], until[second]),
        }
    )
    return pairs.sort_values(["from_rv", "first", "second"], ignore_index=True)


def _verdict(examined: int, violations: int) -> verdicts.Verdict:
    if violations:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if examined else verdicts.Verdict.UNKNOWN


def _in_full(found: pd.DataFrame) -> list[tuple[int, int]]:
    """The first conflicts, the longest one and the last one, in order."""
    if found.empty:
        return []
    longest = int((found["until_rv"] - found["from_rv"]).to_numpy().argmax())
    chosen = sorted({*range(min(IN_FULL_MAX, len(found))), longest, len(found) - 1})
    rows = found.loc[chosen, ["first", "second"]].itertuples(index=False)
    return [(int(first), int(second)) for first, second in rows]


def _describe(first: hold_history.Hold, second: hold_history.Hold) -> verdicts.DoubleAllocation:
    ends = [hold.until_rv for hold in (first, second) if hold.until_rv is not None]
    until = min(ends, default=None)
    return verdicts.DoubleAllocation(
        device=first.device,
        overlap_from_rv=second.from_rv,
        overlap_until_rv=until,
        holders=[_holder(first), _holder(second)],
        text=_text(first, second, until),
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


def _text(first: hold_history.Hold, second: hold_history.Hold, until: int | None) -> str:
    end = "to the end of the history" if until is None else f"until resourceVersion {until}"
    return (
        f"Device {first.device} was allocated to claim {_named(first)} at resourceVersion {first.from_rv}, "
        f"and again to claim {_named(second)} at resourceVersion {second.from_rv}, while the first still held it; "
        f"both held it {end}. Pods: {_pods(first)} and {_pods(second)}."
    )


def _named(hold: hold_history.Hold) -> str:
    return f"{hold.namespace}/{hold.name} (uid {hold.uid})"


def _pods(hold: hold_history.Hold) -> str:
    return ", ".join(sorted(hold.pods)) or "none yet"


def _short(violation: verdicts.DoubleAllocation) -> str:
    first, second = violation.holders
    return f"{violation.device}: {first.name} and {second.name} from {violation.overlap_from_rv}"


def _others(holds: Sequence[hold_history.Hold], found: pd.DataFrame, listed: set[str]) -> list[str]:
    rows = found[["first", "second"]].head(IN_FULL_MAX + OTHERS_MAX).itertuples(index=False)
    lines = (_short(_describe(holds[first], holds[second])) for first, second in rows)
    return list(itertools.islice((line for line in lines if line not in listed), OTHERS_MAX))


def _reason(examined: int, table: pd.DataFrame, found: pd.DataFrame) -> str:
    if not examined:
        return "no exclusive hold of any device was seen, so nothing was examined"
    number = table["device"].nunique()
    among = f"{_many(examined, 'allocation')} of {_many(number, 'device')}"
    if found.empty:
        return f"{among}; no device was held by two claims at once"
    guilty = table["device"].iloc[found["first"]].nunique()
    return f"{_many(len(found), 'double allocation')} of {_many(guilty, 'device')} among {among}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
