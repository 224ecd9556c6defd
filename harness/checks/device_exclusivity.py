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

from harness.checks import hold_history, overlapping, verdicts

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
    pairs = _joined(conflicts(table[: len(alone)]), conflicts_with_shares(table, len(alone)))
    violations = [_describe(holds[a], holds[b]) for a, b in _in_full(pairs)]
    examined = [*alone, *shares]
    return verdicts.CheckResult(
        check=NAME,
        promise=PROMISE,
        verdict=_verdict(len(examined), len(pairs)),
        examined_count=len(examined),
        violation_count=len(pairs),
        violations=violations,
        others=_others(holds, pairs, {violation.summary for violation in violations}),
        reason=_reason(examined, table, pairs),
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


def conflicts(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each pair of overlapping holds of one device by different claims.

    `table` is a result of `frame`. Columns: `first` and `second` (its row numbers, the earlier
    hold first), `from_rv` and `until_rv` of the overlap; sorted by `from_rv`.
    """
    overlaps = overlapping.overlaps(
        table["device"].cat.codes.to_numpy().astype(np.int64),
        table["from_rv"].to_numpy(),
        table["until_rv"].to_numpy(),
    )
    uids, until = table["uid"].cat.codes.to_numpy(), table["until_rv"].to_numpy()
    differs = uids[overlaps.first] != uids[overlaps.second]
    first, second = overlaps.first[differs], overlaps.second[differs]
    pairs = pd.DataFrame(
        {
            "first": first,
            "second": second,
            "from_rv": table["from_rv"].to_numpy()[second],
            "until_rv": np.minimum(until[first], until[second]),
        }
    )
    return pairs.sort_values(["from_rv", "first", "second"], ignore_index=True)


def conflicts_with_shares(table: pd.DataFrame, alone: int) -> pd.DataFrame:
    """Return one row for each hold of a device that overlaps with another claim's share of it.

    `table` is a result of `frame`: first the rows of holds that let no other claim have the
    device, `alone` in number, then those of shares. Columns as those of `conflicts`.
    """
    devices, uids = (table[key].cat.codes.to_numpy() for key in ("device", "uid"))
    start, end = (table[key].to_numpy() for key in ("from_rv", "until_rv"))
    shares = np.arange(alone, len(table))
    rows: list[tuple[int, int]] = []
    for row in np.flatnonzero(np.isin(devices[:alone], devices[alone:])):
        meets = (devices[shares] == devices[row]) & (uids[shares] != uids[row])
        meets &= (start[shares] < end[row]) & (end[shares] > start[row])
        rows += [(int(row), int(share)) for share in shares[meets]]
    ordered = [sorted(pair, key=lambda row: (start[row], row)) for pair in rows]
    first, second = np.array(ordered, dtype=np.int64).reshape(-1, 2).T
    return pd.DataFrame(
        {
            "first": first,
            "second": second,
            "from_rv": start[second],
            "until_rv": np.minimum(end[first], end[second]),
        }
    )


def _joined(plain: pd.DataFrame, with_shares: pd.DataFrame) -> pd.DataFrame:
    if with_shares.empty:
        return plain
    joined = pd.concat([plain, with_shares])
    return joined.sort_values(["from_rv", "first", "second"], ignore_index=True)


def _verdict(examined: int, violations: int) -> verdicts.Verdict:
    if violations:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if examined else verdicts.Verdict.UNKNOWN


def _in_full(pairs: pd.DataFrame) -> list[tuple[int, int]]:
    """Return the first conflicts, the longest and the last one, in order."""
    if pairs.empty:
        return []
    longest = int((pairs["until_rv"] - pairs["from_rv"]).to_numpy().argmax())
    chosen = sorted({*range(min(IN_FULL_MAX, len(pairs))), longest, len(pairs) - 1})
    rows = pairs.loc[chosen, ["first", "second"]].itertuples(index=False)
    return [(int(first), int(second)) for first, second in rows]


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


def _others(holds: Sequence[hold_history.Hold], pairs: pd.DataFrame, listed: set[str]) -> list[str]:
    rows = pairs[["first", "second"]].head(IN_FULL_MAX + OTHERS_MAX).itertuples(index=False)
    lines = (_summary(holds[first], holds[second]) for first, second in rows)
    return list(itertools.islice((line for line in lines if line not in listed), OTHERS_MAX))


def _reason(examined: Sequence[hold_history.Hold], table: pd.DataFrame, pairs: pd.DataFrame) -> str:
    if not examined:
        return "no exclusive allocation of any device was observed, so nothing was examined"
    shared = sum(hold.shared and not hold.exclusive for hold in examined)
    among = _counted(len(examined), "allocation")
    among += f" ({_counted(shared, 'share')})" if shared else ""
    among += f" of {_counted(len({hold.device for hold in examined}), 'device')}"
    if pairs.empty:
        return f"{among}; no device was held by two claims at once"
    doubled = table["device"].iloc[pairs["first"]].nunique()
    return (
        f"{_counted(len(pairs), 'double allocation')} of {_counted(doubled, 'device')} "
        f"among {among}"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
