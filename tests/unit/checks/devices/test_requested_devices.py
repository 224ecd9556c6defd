"""Requests for all devices: what a scheduler must have known and used."""

from collections.abc import Sequence
from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.devices import requested_devices
from harness.history import plans
from tests.histories import judged_runs, placements
from tests.histories.placements import claim, device_class, exactly, listed, on, piece, result
from tests.histories.words import placement_words
from tests.support import text_tables

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
Events = Sequence[placements.Event | None]
BEGIN = [listed(device_class()), listed(piece("D1", "D2"))]


def judge(
    events: Events, *, seen: int = 0, plan: plans.Plan | None = None, gap: str = ""
) -> verdicts.CheckResult:
    """The result; `seen` is the version of the slices that the scheduler knew, 0: not known."""
    given = placements.evidence(events, plan, {"c": seen} if seen else {}, gap=gap)
    return judged_runs.examined(requested_devices.REQUESTED_RESULTS.judge(given))


# ------------------------------------------------------------------------------ all devices


ONE = claim("c", result("D1"), requests=[exactly(allocationMode="All")], selector=on("n1"))
WORDS: dict[str, Any] = {
    "BEGIN": BEGIN,
    "ONE": ONE,
    "READY": {"bindingConditions": ["ready"]},
    "ROOM": {"allowMultipleAllocations": True, "capacity": {"memory": "2"}},
    "SHAREABLE": {"allowMultipleAllocations": True},
    "TWICE": {"capacity": {"requests": {"memory": "1", "gpu.example/memory": "1"}}},
    "TAINT": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
}


def cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "certain_cases.txt", part)


@pytest.mark.parametrize(("history", "seen", "wrong"), cases("all devices"))
def test_all_devices_are_those_that_the_scheduler_must_have_known(
    history: str, seen: str, wrong: str
) -> None:
    found = judge(placement_words.history(history, WORDS), seen=int(seen))
    assert (found.verdict, found.violation_count) == (INVALID if wrong else VALID, bool(wrong))
    for violation in found.violations:
        assert "asks for all devices and got 1 device, but not gpu.example/n1/D2" in violation.text


@pytest.mark.parametrize("resource", ["resourceslices", "deviceclasses"])
def test_a_gap_may_hide_why_not_all_were_taken(resource: str) -> None:
    assert judge([*BEGIN, ONE], gap=resource).verdict is VALID


def test_of_equal_claims_each_is_judged_by_what_its_scheduler_knew() -> None:
    """The one knew the newest slice, without D2; the other one the slice before, with it."""
    all_of = {"requests": [exactly(allocationMode="All")], "selector": on("n1")}
    events = [*BEGIN, None, None, piece("D1", "D2")]
    events += [claim("a", result("D1"), **all_of), claim("b", result("D1"), **all_of)]
    for views, wrong in (({"a": 4, "b": 5}, ["b"]), ({"a": 5, "b": 4}, ["a"]), ({"b": 5}, ["b"])):
        given = placements.evidence(events, views=views)
        answer = judged_runs.examined(requested_devices.REQUESTED_RESULTS.judge(given))
        assert [item.objects[0].name for item in answer.violations] == wrong


@pytest.mark.parametrize("is_reversed", [False, True])
def test_all_devices_are_asked_for_beside_another_request(is_reversed: bool) -> None:
    """A device that another request got is missing, too."""
    requests = [exactly(allocationMode="All"), exactly("q")]
    results = [result("D1"), result("D2", request="q")]
    event = claim("c", *results, requests=requests[:: -1 if is_reversed else 1], selector=on("n1"))
    found = judge([*BEGIN, event])
    assert "request r asks for all devices and got 1 device, but not" in found.violations[0].text
