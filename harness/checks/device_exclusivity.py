"""The check this project exists for: no device is held by two claims at once.

The API server does not compare claims with each other; only the scheduler's own bookkeeping
prevents double allocations. A hold begins with the commit that writes the device into the claim's
`status.allocation` and ends with the commit that removes it or deletes the claim.

Shares of a device that its slice offers for sharing may overlap with each other, but not with a
claim that holds the device for itself. Shares of any other device are holds like all others.
Results with admin access may overlap with everything and are ignored.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from harness.checks import findings, protocol, verdicts
from harness.checks.devices import capacities
from harness.checks.holds import hold_columns, hold_history

CHECK = protocol.Check(
    name="device_exclusivity",
    guarantee="X",
    promise="no device is held by two claims at once",
    needs=(hold_history.HoldHistory, capacities.DeclaredDevices),
    judge=lambda evidence: check(
        evidence[hold_history.HoldHistory], evidence[capacities.DeclaredDevices].is_shareable
    ),
    by_holds=True,
)


def check(
    history: hold_history.HoldHistory, is_shareable: Callable[[str], bool | None]
) -> verdicts.CheckResult:
    """Return INVALID with the double allocations, VALID without any, UNKNOWN without any hold.

    `is_shareable` returns whether slices let claims share a device; None: no slice has the device,
    and its shares are not examined.
    """
    apart = _apart(history)
    if apart is not None:
        return _result(*apart)
    from harness.checks.holds import double_allocations  # imports pandas

    holds = double_allocations.examined(
        history.holds.frame(end_rv=history.last_rv + 1), is_shareable
    )
    found = double_allocations.find(holds)
    first, second = (
        history.holds.at(holds.row[found.listed[name]]) for name in ("first", "second")
    )
    shown = list(zip(first, second, strict=True))
    in_full = findings.in_full(len(shown), double_allocations.longest(found.listed))
    violations = [_describe(*shown[index]) for index in in_full]
    summaries = {violation.summary for violation in violations}
    doubles = verdicts.counted(found.total, "double allocation")
    doubles += verdicts.meant_pairs(found.total, len(holds))
    result = _result(
        len(holds),
        holds.device.nunique(),
        shared=int((holds.shared & ~holds.exclusive).sum()),
        doubles=f"{doubles} of {verdicts.counted(found.devices, 'device')}" if found.total else "",
    )
    return msgspec.structs.replace(
        result,
        violation_count=found.total,
        violations=violations,
        others=_others(shown[: double_allocations.LISTED_MAX], summaries),
    )


def _apart(history: hold_history.HoldHistory) -> tuple[int, int] | None:
    """Return the numbers of holds and devices if no two holds overlap; None: pandas has to find."""
    holds = history.holds
    rows = holds.exclusive()
    if rows is None:
        return None
    device, begin, until = (holds.column(name)[rows] for name in ("device", "from_rv", "until_rv"))
    end = np.where(until == hold_columns.OPEN, history.last_rv + 1, until)
    lasting = end > begin
    if hold_columns.disputed(device[lasting], begin[lasting], end[lasting]).any():
        return None
    return len(rows), int(np.count_nonzero(np.bincount(device)))


def _result(
    examined: int, devices: int, *, shared: int = 0, doubles: str = ""
) -> verdicts.CheckResult:
    among = verdicts.counted(examined, "allocation")
    among += f" ({verdicts.counted(shared, 'share')})" if shared else ""
    among += f" of {verdicts.counted(devices, 'device')}"
    reason = f"{among}; no device was held by two claims at once"
    if not examined:
        reason = "no exclusive allocation of any device was observed, so nothing was examined"
    return verdicts.CheckResult(
        check=CHECK.name,
        promise=CHECK.promise,
        verdict=findings.verdict(int(bool(doubles)), is_kept=bool(examined)),
        examined_count=examined,
        violation_count=0,
        violations=[],
        others=[],
        reason=f"{doubles} among {among}" if doubles else reason,
    )


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
    return [line for line in lines if line not in in_full][: findings.OTHERS_MAX]
