"""The check this project exists for: no device is held by two claims at once.

The API server does not compare claims with each other; only the scheduler's own bookkeeping
prevents double allocations. A hold begins with the commit that writes the device into the claim's
`status.allocation` and ends with the commit that removes it or deletes the claim.

Shares of a device that its slice offers for sharing may overlap with each other, but not with a
claim that holds the device for itself. Shares of any other device are holds like all others.
Results with admin access may overlap with everything and are ignored.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from harness.checks import check_results, protocol, verdicts
from harness.checks.consumption import declared_devices
from harness.checks.holds import hold_history, overlapping

LISTED_MAX = check_results.IN_FULL_MAX + check_results.OTHERS_MAX


class Found(NamedTuple):
    """The double allocations among holds."""

    total: int
    """Pairs of holds; not all of them are listed."""
    devices: int
    """Devices that have a pair."""
    listed: pd.DataFrame
    """The first pairs, the longest and the last one, in order; see `overlapping.conflicts`."""


CHECK = protocol.Check(
    name="device_exclusivity",
    guarantee="X",
    promise="no device is held by two claims at once",
    needs=(hold_history.HoldHistory, declared_devices.DeclaredDevices),
    judge=lambda evidence: check(
        evidence[hold_history.HoldHistory], evidence[declared_devices.DeclaredDevices].is_shareable
    ),
    by_holds=True,
)


def check(
    history: hold_history.HoldHistory, is_shareable: Callable[[str], bool | None]
) -> verdicts.CheckResult:
    """Return INVALID with the double allocations, VALID without any, UNKNOWN without any hold.

    `is_shareable` tells whether slices let claims share a device; None: no slice has the device,
    and its shares are not examined.
    """
    holds = examined(history.holds.frame(end_rv=history.last_rv + 1), is_shareable)
    found = find(holds)
    first, second = (
        history.holds.at(holds.row[found.listed[name]]) for name in ("first", "second")
    )
    shown = list(zip(first, second, strict=True))
    in_full = check_results.in_full(len(shown), _longest(found.listed))
    violations = [_describe(*shown[index]) for index in in_full]
    return verdicts.CheckResult(
        check=CHECK.name,
        promise=CHECK.promise,
        verdict=_verdict(len(holds), found.total),
        examined_count=len(holds),
        violation_count=found.total,
        violations=violations,
        others=_others(shown[:LISTED_MAX], {violation.summary for violation in violations}),
        reason=_reason(holds, found),
    )


def examined(holds: pd.DataFrame, is_shareable: Callable[[str], bool | None]) -> pd.DataFrame:
    """Return the holds that let no other claim have the device, and then the proper shares.

    `holds` is as `HoldColumns.frame` returns it. Added are the columns `share`, and `row`, the
    number of the hold. Those with admin access alone exclude no other claim, and are left out.
    """
    is_part = holds.shared & ~holds.exclusive
    answers = {device: is_shareable(device) for device in holds.device[is_part].unique()}
    offered = [device for device, answer in answers.items() if answer is True]
    refused = [device for device, answer in answers.items() if answer is False]
    alone = holds[holds.exclusive | (is_part & holds.device.isin(refused))]
    shares = holds[is_part & holds.device.isin(offered)]
    parts = [alone.assign(share=False), shares.assign(share=True)]
    return pd.concat(parts).reset_index(names="row")


def find(holds: pd.DataFrame) -> Found:
    """Return the double allocations among `examined` holds."""
    total, devices, listed = 0, set[str](), []
    for pairs in overlapping.conflicts(holds):
        total += len(pairs)
        devices.update(pairs.device.unique())
        listed.append(_first_longest_last(pairs))
    return Found(total, len(devices), _first_longest_last(pd.concat(listed)))


def _first_longest_last(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs that are listed, in order."""
    pairs = pairs.sort_values(overlapping.ORDER, ignore_index=True)
    longest = _longest(pairs)
    chosen = {*pairs.index[:LISTED_MAX], *pairs.index[longest : longest + 1], *pairs.index[-1:]}
    return pairs.loc[sorted(chosen)].reset_index(drop=True)


def _longest(pairs: pd.DataFrame) -> int:
    """Return the position of the first of the pairs that overlap longest; 0 if there is none."""
    return int((pairs.until_rv - pairs.from_rv).argmax()) if len(pairs) else 0


def _verdict(examined: int, violations: int) -> verdicts.Verdict:
    if violations:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if examined else verdicts.Verdict.UNKNOWN


def _describe(first: hold_history.Hold, second: hold_history.Hold) -> verdicts.DoubleAllocation:
    ends = [hold.until_rv for hold in (first, second) if hold.until_rv is not None]
    until = min(ends, default=None)
    versions = {first.from_rv, second.from_rv, *(() if until is None else (until,))}
    pods = {(hold.namespace, pod) for hold in (first, second) for pod in hold.pods}
    return verdicts.DoubleAllocation(
        guarantee=CHECK.name,
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
    shown: Sequence[tuple[hold_history.Hold, hold_history.Hold]], in_full: set[str]
) -> list[str]:
    lines = (_summary(*pair) for pair in shown)
    return [line for line in lines if line not in in_full][: check_results.OTHERS_MAX]


def _reason(holds: pd.DataFrame, found: Found) -> str:
    if holds.empty:
        return "no exclusive allocation of any device was observed, so nothing was examined"
    shared = int((holds.shared & ~holds.exclusive).sum())
    among = verdicts.counted(len(holds), "allocation")
    among += f" ({verdicts.counted(shared, 'share')})" if shared else ""
    among += f" of {verdicts.counted(holds.device.nunique(), 'device')}"
    if not found.total:
        return f"{among}; no device was held by two claims at once"
    doubles = verdicts.counted(found.total, "double allocation")
    doubles += verdicts.meant_pairs(found.total, len(holds))
    return f"{doubles} of {verdicts.counted(found.devices, 'device')} among {among}"
