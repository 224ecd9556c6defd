"""The check of devices on nodes: none is prepared for two claims at once.

The API frees the devices of a pod that was deleted by force, or whose node was lost, although its
containers may still run (kubernetes#141471). A driver must then refuse a device until it is
unprepared. Judged only in runs whose driver promises that.

The journals of preparations say when; that both claims really had the device must also be in the
recorded API objects. If it is not, the answer is UNKNOWN.
"""

import collections
import itertools
from collections.abc import Sequence

from harness.checks import findings, protocol, verdicts
from harness.checks.holds import hold_columns, hold_history
from harness.checks.nodes import preparations
from harness.history import plans

_Pair = tuple[str, preparations.Preparation, preparations.Preparation]
"""A device with two preparations of it, the earlier one first."""


def applies(plan: plans.Plan) -> bool:
    """Return whether the driver of this plan promises to refuse devices that are in use."""
    driver = plan.settings.get("driver") or {}
    return bool(plan.expected_preparations and driver.get("exclusivity"))


CHECK = protocol.Check(
    name="prepared_devices",
    guarantee="X",
    promise="no device is prepared for two claims at once",
    applies=applies,
    needs=(preparations.Reading, hold_history.HoldHistory),
    judge=lambda evidence: check(
        evidence[preparations.Reading].prepared, evidence[hold_history.HoldHistory].holds
    ),
)


def check(
    prepared: Sequence[preparations.Preparation], holds: hold_columns.HoldColumns
) -> verdicts.CheckResult:
    """Return INVALID with all double preparations, VALID without any.

    UNKNOWN if no device was prepared for a second claim, or if the API contradicts the journals.
    """
    pairs = _double(prepared)
    held = {
        (device, hold.uid): hold
        for device in {pair[0] for pair in pairs}
        for hold in reversed(holds.of_device(device))
    }
    found = [
        _finding(pair, held)
        for pair in pairs
        if all((pair[0], item.uid) in held for item in pair[1:])
    ]
    reused = _reused(prepared)
    return findings.result(
        CHECK,
        found,
        is_kept=bool(reused and not pairs),
        examined=reused,
        reason=_reason(reused, found, pairs),
    )


def _reason(reused: int, found: Sequence[findings.Finding], pairs: Sequence[_Pair]) -> str:
    if found:
        return findings.first(found)
    if pairs:
        return f"the API knows of no such claims, but the journals say: {_summary(pairs[0])}"
    if reused:
        return f"{reused} times a device was prepared for another claim, never for two at once"
    return "no device was prepared for a second claim"


def _uses(prepared: Sequence[preparations.Preparation]) -> list[tuple[str, int]]:
    return [
        (device, index) for index, item in enumerate(prepared) for device in sorted(item.exclusive)
    ]


def _double(prepared: Sequence[preparations.Preparation]) -> list[_Pair]:
    uses = _uses(prepared)
    rows = [
        (device, prepared[index].from_ns, _until_ns(prepared[index], prepared))
        for device, index in uses
    ]
    if all(one[0] != two[0] or one[2] <= two[1] for one, two in itertools.pairwise(sorted(rows))):
        return []  # as mostly; pandas takes 0.5 s to import
    import pandas as pd

    from harness.checks.holds import double_allocations

    table = pd.DataFrame(rows, columns=["device", "from_ns", "until_ns"])
    table["device"] = pd.factorize(table.device)[0]
    found = pd.concat(double_allocations.overlapping(table, begin="from_ns", end="until_ns"))
    pairs = [
        (uses[one][0], prepared[uses[one][1]], prepared[uses[two][1]])
        for one, two in found[["first", "second"]].itertuples(index=False)
    ]
    return sorted(
        (pair for pair in pairs if pair[1].uid != pair[2].uid), key=lambda pair: pair[2].from_ns
    )


def _until_ns(item: preparations.Preparation, prepared: Sequence[preparations.Preparation]) -> int:
    if item.until_ns is not None:
        return item.until_ns
    return max(other.from_ns for other in prepared) + 1


def _reused(prepared: Sequence[preparations.Preparation]) -> int:
    """Return how often a device was prepared for another claim than the one before."""
    by_device: dict[str, list[preparations.Preparation]] = collections.defaultdict(list)
    for device, index in _uses(prepared):
        by_device[device].append(prepared[index])
    return sum(
        one.uid != two.uid
        for items in by_device.values()
        for one, two in itertools.pairwise(sorted(items, key=lambda item: item.from_ns))
    )


def _summary(pair: _Pair) -> str:
    device, first, second = pair
    return f"{device} was prepared for {second.name} while it was prepared for {first.name}"


def _finding(pair: _Pair, held: dict[tuple[str, str], hold_history.Hold]) -> findings.Finding:
    device, first, second = pair
    before_s = (second.from_ns - first.from_ns) / 1e9
    late_s = ((first.until_ns or 0) - second.from_ns) / 1e9
    end = "never unprepared" if first.until_ns is None else f"unprepared {late_s:.3f} s later"
    return findings.Finding(
        summary=_summary(pair),
        text=f"{device} was prepared on {first.node} for claim {first.name} ({first.uid}), and "
        f"{before_s:.3f} s later on {second.node} for claim {second.name} ({second.uid}); the "
        f"first one was {end}",
        versions=[held[device, item.uid].from_rv for item in (first, second)],
        objects=[verdicts.involved_claim(item) for item in (first, second)],
    )
