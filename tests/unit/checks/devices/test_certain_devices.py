"""Requests for all devices, and earlier alternatives: what a scheduler must have known and used."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.devices import device_demand, requested_results
from harness.checks.holds import hold_history
from harness.checks.taints import attempt_views
from harness.history import plans, records
from tests.histories import building, placements
from tests.histories.placements import claim, device_class, exactly, listed, on, piece, result
from tests.histories.words import placement_words
from tests.support import text_tables

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
Events = Sequence[placements.Event | None]
FAULT = plans.PlannedFault(name="f", kind="delay-events", carrier="server", text="late")
BEGIN = [listed(device_class()), listed(piece("D1", "D2"))]


def judge(
    events: Events, *, seen: int = 0, plan: plans.Plan | None = None, gap: str = ""
) -> verdicts.CheckResult:
    """The result; `seen` is the version of the slices that the scheduler knew, 0: not known."""
    folded = placements.fold(events)
    for folder in folded.folders if gap else ():
        folder.see_gap(records.Gap(resource=gap, after_resource_version=1, reason="410", ts_ns=1))
    views = {"c": attempt_views.View(seen)} if seen else {}
    answer = requested_results.check(
        folded.questions, folded.timelines, views, plan or building.plan()
    )
    assert isinstance(answer, verdicts.CheckResult), answer
    return answer


def settled(**settings: Any) -> plans.Plan:
    return msgspec.structs.replace(building.plan(), settings=settings)


# ------------------------------------------------------------------------------ all devices


ONE = claim("c", result("D1"), requests=[exactly(allocationMode="All")], selector=on("n1"))
FOUR = [listed(device_class()), listed(piece("D1", "D2", "D3", "D4"))]
PAIR_D = claim("d", result("D1"), result("D2"))
PAIR_E = claim("e", result("D3"), result("D4"))
TWO_OR_ONE = [placement_words.request("r/x*2/y*1", {})]
WORDS: dict[str, Any] = {
    "BEGIN": BEGIN,
    "ONE": ONE,
    "FOUR": FOUR,
    "PAIR_D": PAIR_D,
    "PAIR_E": PAIR_E,
    # More than all devices were in use once, so that the demand of all claims shows nothing.
    "USED": [*FOUR, PAIR_D, PAIR_E, claim("d"), claim("e")],
    "MINE": claim("c", requests=TWO_OR_ONE),
    "MINE_LATE": claim("c", result("D1", request="r/y"), requests=TWO_OR_ONE, selector=on("n1")),
    "D4_USED": claim("d", result("D4"), users=["p"]),
    "NUMA": {"matchAttribute": "gpu.example/numa"},
    "READY": {"bindingConditions": ["ready"]},
    "ROOM": {"allowMultipleAllocations": True, "capacity": {"memory": "2"}},
    "SHAREABLE": {"allowMultipleAllocations": True},
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
    folded = placements.fold(events)
    for views, wrong in (({"a": 4, "b": 5}, ["b"]), ({"a": 5, "b": 4}, ["a"]), ({"b": 5}, ["b"])):
        known = {name: attempt_views.View(seen) for name, seen in views.items()}
        # With faults, the answer does not depend on how many devices claims have taken before.
        plan = msgspec.structs.replace(building.plan(), faults=[FAULT])
        answer = requested_results.check(folded.questions, folded.timelines, known, plan)
        assert isinstance(answer, verdicts.CheckResult)
        assert [item.objects[0].name for item in answer.violations] == wrong


@pytest.mark.parametrize("is_reversed", [False, True])
def test_all_devices_are_asked_for_beside_another_request(is_reversed: bool) -> None:
    """A device that another request got is missing, too."""
    requests = [exactly(allocationMode="All"), exactly("q")]
    results = [result("D1"), result("D2", request="q")]
    event = claim("c", *results, requests=requests[:: -1 if is_reversed else 1], selector=on("n1"))
    found = judge([*BEGIN, event])
    assert "request r asks for all devices and got 1 device, but not" in found.violations[0].text


def test_equal_claims_may_have_been_chosen_from_different_pools() -> None:
    """The first one comes before the pool grows, the last one after the scheduler knew it."""
    grown = [listed(device_class()), listed(piece("D1")), ONE, piece("D1", "D2")]
    again = claim("d", *ONE.obj["status"]["allocation"]["devices"]["results"])
    again = claim("d", result("D1"), requests=[exactly(allocationMode="All")], selector=on("n1"))
    folded = placements.fold([*grown, again, None])
    views = {"d": attempt_views.View(4)}
    found = requested_results.check(folded.questions, folded.timelines, views, building.plan())
    assert isinstance(found, verdicts.CheckResult)
    assert [item.objects[0].name for item in found.violations] == ["d"]


# --------------------------------------------------------------------- order of alternatives


def late(*asked: str, request: str = "r/y") -> placements.Event:
    """Claim c gets one device, although it would rather have had what comes first."""
    requests = [placement_words.request(text, WORDS) for text in asked or ["r/x*2/y*1"]]
    return claim("c", result("D1", request=request), requests=requests, selector=on("n1"))


@pytest.mark.parametrize(("before", "wrong"), cases("an earlier alternative besides other claims"))
def test_an_earlier_alternative_is_demanded_if_no_claims_could_use_it_up(
    before: str, wrong: str
) -> None:
    found = judge([*FOUR, WORDS["MINE"], *placement_words.history(before, WORDS), late()])
    assert (found.verdict, found.violation_count) == (INVALID if wrong else VALID, bool(wrong))
    if not before:
        assert found.violations[0].summary == (
            "claim c: request r got devices for r/y, although n1 had 4 for r/x, which comes before "
            "it, and all claims together could have 2 of them at most"
        )


@pytest.mark.parametrize(("event", "wrong"), cases("an earlier alternative"))
def test_an_earlier_alternative_is_demanded_if_it_is_certain(event: str, wrong: str) -> None:
    found = judge([*FOUR, *placement_words.history(event, WORDS)])
    assert any("comes before" in item.text for item in found.violations) is bool(wrong)


@pytest.mark.parametrize(("history", "wrong"), cases("claims that compete"))
def test_where_claims_compete_the_order_is_judged_by_what_others_had(
    history: str, wrong: str
) -> None:
    events = placement_words.history(history, WORDS)
    seen, holds = placements.fold(events), hold_history.HoldHistory()
    for version, event in enumerate(events, start=1):
        if event is not None:
            holds.see_any(placements.observed(event, version))
    answer = requested_results.check(seen.questions, seen.timelines, {}, building.plan(), holds)
    assert isinstance(answer, verdicts.CheckResult)
    told = [item.text for item in answer.violations if "comes before" in item.text]
    assert bool(told) is bool(wrong)
    assert answer.unexamined_count == 0
    if wrong:
        assert "no other claim had 2 of them, or could have had them" in told[0]


@pytest.mark.parametrize(
    ("asked", "faults", "left"),
    [
        ("r/x*2/y*1", [], 0),
        ("r/x*2/y*1", [FAULT], 1),
        ("r/x*all/y*1", [], 1),
        ("r/x=1/y*1", [], 1),
    ],
)
def test_an_order_that_is_not_examined_is_counted(
    asked: str, faults: list[plans.PlannedFault], left: int
) -> None:
    plan = msgspec.structs.replace(building.plan(), faults=faults)
    found = judge([*FOUR, *map(claim, "def"), late(asked)], plan=plan)
    assert found.unexamined_count == left
    assert ("the order was not examined" in found.reason) is bool(left)


def test_the_best_of_three_alternatives_is_named_that_could_be_used() -> None:
    asked = "r/x*9/y*2/z*1"
    many = [listed(device_class()), listed(piece(*(f"D{number}" for number in range(12))))]
    mine = claim("c", requests=[placement_words.request(asked, {})])
    found = judge([*many, mine, late(asked, request="r/z")])
    assert "although n1 had 12 for r/x, which comes before it" in found.violations[0].text
    few = judge([*FOUR, late(asked, request="r/z")])
    assert few.verdict is VALID  # all nine could be held by the claim itself, as far as is known


CHANGING = {"changes": [{"kind": "taint"}]}
PLANS = {
    "a fault": msgspec.structs.replace(building.plan(), faults=[FAULT]),
    "taints": settled(pools=CHANGING),
    "extended resources": settled(claim={"extended": True}),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_what_a_scheduler_may_have_known_alone_excuses_a_later_alternative(
    plan: plans.Plan,
) -> None:
    assert judge([*FOUR, late()]).verdict is INVALID
    assert judge([*FOUR, late()], plan=plan).verdict is VALID
    assert judge([*BEGIN, ONE], plan=plan).verdict is INVALID  # this needs no more than slices


def test_claims_that_were_not_seen_may_have_had_the_devices() -> None:
    before = [*FOUR, WORDS["MINE"]]
    folded = placements.fold(before)
    demand = device_demand.DeviceDemand()
    assert demand.until(10) == 0.0
    assert folded.demand.until(3) == 0.0
    assert folded.demand.until(4) == 2.0
    gap = records.Gap(resource="resourceclaims", after_resource_version=3, reason="410", ts_ns=1)
    folded.demand.see_gap(gap)
    assert folded.demand.until(3) == 0.0
    assert folded.demand.until(4) == float("inf")


def test_the_demand_is_counted_up_to_a_limit() -> None:
    most = [claim(f"c{number}", requests=[exactly(count=32)]) for number in range(129)]
    demand = placements.fold(most).demand
    assert demand.until(129) == device_demand.COUNTED_MAX
    assert demand.until(130) == demand.until(1000) == float("inf")
