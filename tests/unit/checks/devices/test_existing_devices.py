"""Devices that were allocated although no version that the scheduler could have seen had them."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.devices import device_timelines, reachable_devices
from harness.history import plans, records
from tests.histories import building, placements
from tests.histories.placements import claim, gone, piece, result
from tests.histories.words import placement_words
from tests.support import text_tables

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
FAULT = plans.PlannedFault(name="f", kind="delay-events", carrier="server", text="late")
C = claim("c", result("D1"))
SLOTS = {"slots": {"value": "1"}}
COUNTERS = {"nodeName": "n1", "sharedCounters": [{"name": "set", "counters": SLOTS}]}
CONSUMER = placements.device("D1", consumesCounters=[{"counterSet": "set", "counters": SLOTS}])


def judge(
    events: Sequence[placements.Event | None],
    *,
    seen: int = 0,
    faults: Sequence[plans.PlannedFault] = (),
    second_ns: int = 1_000_000_000,
) -> verdicts.CheckResult:
    """The result, with the version of the slices that the scheduler had dealt with; 0: unknown."""
    folded = placements.fold(events, second_ns=second_ns)
    views = {"c": device_timelines.View(seen)} if seen else {}
    plan = msgspec.structs.replace(building.plan(), faults=list(faults))
    answer = reachable_devices.EXISTING_DEVICES.judge(folded.evidence(plan, views))
    assert isinstance(answer, verdicts.CheckResult), answer
    return answer


WORDS: dict[str, Any] = {
    "C": C,
    "CONSUMER": CONSUMER,
    "COUNTERS": piece(name="t", count=2, **COUNTERS),
    "COUNTERS_OF_3": piece(name="t", count=3, **COUNTERS),
    "COUNTERS_AGAIN": piece(name="u", count=3, **COUNTERS),
}


@pytest.mark.parametrize(
    ("history", "seen", "wrong"), text_tables.cases(__file__, "existing_cases.txt")
)
def test_a_device_is_wrong_if_no_version_that_may_have_been_seen_has_it(
    history: str, seen: str, wrong: str
) -> None:
    found = judge(placement_words.history(history, WORDS), seen=int(seen))
    assert (found.verdict, found.examined_count) == (INVALID if wrong else VALID, 1)
    assert found.violation_count == bool(wrong)
    for violation in found.violations:
        assert "gpu.example/n1/D1 could not be allocated in any version" in violation.text


def test_a_scheduler_without_faults_lags_by_a_limited_time() -> None:
    """Half a minute after the device was withdrawn it may be allocated, a minute after not."""
    events = [piece("D1"), piece("D2"), None, C]
    lag_ns = int(reachable_devices.LAG_S * 1e9)
    assert judge(events, second_ns=lag_ns // 4).verdict is VALID
    assert judge(events, second_ns=lag_ns).verdict is INVALID
    assert judge(events, second_ns=lag_ns, faults=[FAULT]).verdict is VALID


def test_of_equal_allocations_each_is_judged_by_its_own_time() -> None:
    found = judge([piece("D1"), claim("a", result("D1")), piece("D2"), C], seen=3)
    assert [item.objects[0].name for item in found.violations] == ["c"]


def test_with_faults_only_what_was_never_listed_is_wrong() -> None:
    withdrawn = [piece("D1", count=2), gone(piece("D1")), C]
    assert judge(withdrawn, seen=2, faults=[FAULT]).verdict is VALID
    assert judge([piece("D2"), C], faults=[FAULT]).verdict is INVALID


def test_a_gap_may_hide_the_device() -> None:
    folded = placements.fold([piece("D2"), C])
    gap = records.Gap(resource="resourceslices", after_resource_version=1, reason="410", ts_ns=1)
    folded.timelines.see_gap(gap)
    answer = reachable_devices.EXISTING_DEVICES.judge(folded.evidence())
    assert isinstance(answer, verdicts.NotExamined)
