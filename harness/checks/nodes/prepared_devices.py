"""The check of devices on nodes: none is prepared for two claims at once.

The API frees the devices of a pod that was deleted by force, or whose node was lost, although its
containers may still run (kubernetes#141471). A driver must then refuse a device until it is
unprepared. Judged only in runs whose driver promises that.

The journals of preparations say when; that both claims really had the device must also be in the
recorded API objects. If it is not, the answer is UNKNOWN.
"""

import collections
import itertools
from collections.abc import Iterable, Mapping, Sequence

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations
from harness.history import plans

_Pair = tuple[str, preparations.Preparation, preparations.Preparation]
"""A device with two preparations of it, the earlier one first."""


def applies(plan: plans.Plan) -> bool:
    """Return whether the driver of this plan promises to refuse devices that are in use."""
    return bool(plan.expected_preparations and plan_facts.part(plan, "driver").get("exclusivity"))


def judge(evidence: protocol.Evidence) -> verdicts.CheckResult:
    """Return INVALID with all double preparations, VALID without any.

    UNKNOWN if no device was prepared for a second claim, or if the API contradicts the journals.
    """
    uses = _by_device(evidence[preparations.Reading].prepared)
    pairs, reused = _double(uses), _reused(uses)
    held = {
        (device, hold.uid): hold
        for device in {pair[0] for pair in pairs}
        for hold in reversed(evidence[hold_history.HoldHistory].holds.of_device(device))
    }
    unless = "" if reused else "no device was prepared for a second claim"
    if pairs:
        unless = f"the API knows of no such claims, but the journals say: {_summary(pairs[0])}"
    return findings.judged(
        CHECK,
        [
            _finding(pair, held)
            for pair in pairs
            if all((pair[0], item.uid) in held for item in pair[1:])
        ],
        examined=reused,
        good=f"{reused} times a device was prepared for another claim, never for two at once",
        unless=unless,
    )


CHECK = protocol.Check(
    name="prepared_devices",
    guarantee="X",
    promise="no device is prepared for two claims at once",
    applies=applies,
    needs=(preparations.Reading, hold_history.HoldHistory),
    judge=judge,
)


def _by_device(
    prepared: Iterable[preparations.Preparation],
) -> dict[str, list[preparations.Preparation]]:
    found = collections.defaultdict[str, list[preparations.Preparation]](list)
    for item in sorted(prepared, key=lambda item: item.from_ns):
        for device in sorted(item.exclusive):
            found[device].append(item)
    return found


def _double(uses: Mapping[str, Sequence[preparations.Preparation]]) -> list[_Pair]:
    pairs: list[_Pair] = []
    for device, items in uses.items():
        lasting: list[preparations.Preparation] = []
        for item in items:
            lasting = [one for one in lasting if one.lasts_at(item.from_ns)]
            pairs += [(device, one, item) for one in lasting if one.uid != item.uid]
            lasting.append(item)
    return sorted(pairs, key=lambda pair: pair[2].from_ns)


def _reused(uses: Mapping[str, Sequence[preparations.Preparation]]) -> int:
    """Return how often a device was prepared for another claim than the one before."""
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, uses.values()))
    return sum(one.uid != two.uid for one, two in pairs)


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
