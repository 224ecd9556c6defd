"""The check this project exists for: no device is held by two claims at once.

The API server does not compare claims with each other; only the scheduler's own bookkeeping
prevents double allocations. A hold begins with the commit that writes the device into the claim's
`status.allocation` and ends with the commit that removes it or deletes the claim.

Shares of a device that its slice offers for sharing may overlap with each other, but not with a
claim that holds the device for itself. Shares of any other device are holds like all others.
Results with admin access may overlap with everything and are ignored.
"""

from collections.abc import Callable

import msgspec
import numpy as np

from harness.checks import findings, protocol, verdicts
from harness.checks.devices import device_catalogue
from harness.checks.holds import hold_columns, hold_history

CHECK = protocol.Check(
    name="device_exclusivity",
    guarantee="X",
    promise="no device is held by two claims at once",
    needs=(hold_history.HoldHistory, device_catalogue.DeviceCatalogue),
    judge=lambda evidence: check(
        evidence[hold_history.HoldHistory], evidence[device_catalogue.DeviceCatalogue].is_shareable
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
        return findings.result(
            CHECK, [], examined=apart[0], reason=_reason(*apart), is_kept=apart[0] > 0
        )
    from harness.checks.holds import double_allocations  # imports pandas

    holds = double_allocations.examined(
        history.holds.frame(end_rv=history.last_rv + 1), is_shareable
    )
    found = double_allocations.find(holds)
    first, second = (
        history.holds.at(holds.row[found.listed[name]]) for name in ("first", "second")
    )
    shown, shares = list(zip(first, second, strict=True)), (holds.shared & ~holds.exclusive).sum()
    doubles = verdicts.counted(found.total, "double allocation")
    doubles += verdicts.meant_pairs(found.total, len(holds))
    doubles += f" of {verdicts.counted(found.devices, 'device')}"
    result = findings.of_many(
        CHECK,
        len(shown),
        lambda index: _describe(*shown[index]),
        summary=lambda index: _summary(*shown[index]),
        examined=len(holds),
        reason=_reason(len(holds), holds.device.nunique(), int(shares), doubles * bool(shown)),
        is_kept=len(holds) > 0,
        worst=double_allocations.longest(found.listed),
    )
    return msgspec.structs.replace(result, violation_count=found.total)


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


def _reason(examined: int, devices: int, shares: int = 0, doubles: str = "") -> str:
    if not examined:
        return "no exclusive allocation of any device was observed, so nothing was examined"
    among = verdicts.counted(examined, "allocation")
    among += f" ({verdicts.counted(shares, 'share')})" * bool(shares)
    among += f" of {verdicts.counted(devices, 'device')}"
    return (
        f"{doubles} among {among}"
        if doubles
        else f"{among}; no device was held by two claims at once"
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
            first.involved,
            second.involved,
            *(
                verdicts.InvolvedObject(kind="Pod", namespace=namespace, name=name, uid="")
                for namespace, name in sorted(pods)
            ),
        ],
        device=first.device,
        overlap_from_rv=second.from_rv,
        overlap_until_rv=until,
        holders=[
            verdicts.Holder(
                uid=hold.uid,
                namespace=hold.namespace,
                name=hold.name,
                held_from_rv=hold.from_rv,
                held_until_rv=hold.until_rv,
                pods=sorted(hold.pods),
                allocated_ts_ns=hold.from_ts_ns,
                released_ts_ns=hold.until_ts_ns,
            )
            for hold in (first, second)
        ],
    )


def _summary(first: hold_history.Hold, second: hold_history.Hold) -> str:
    return f"{first.device}: {first.name} and {second.name} from version {second.from_rv}"


def _text(first: hold_history.Hold, second: hold_history.Hold, until: int | None) -> str:
    end = "to the end of the history" if until is None else f"until resourceVersion {until}"
    again = "a share of it" if second.shared and not second.exclusive else "again"
    what = "A share of device" if first.shared and not first.exclusive else "Device"
    return (
        f"{what} {first.device} was allocated to claim {first} at resourceVersion "
        f"{first.from_rv}, and {again} to claim {second} at resourceVersion "
        f"{second.from_rv}, while the first still held it; both held it {end}. "
        f"Pods: {_pods(first)} and {_pods(second)}."
    )


def _pods(hold: hold_history.Hold) -> str:
    return ", ".join(sorted(hold.pods)) or "none yet"
