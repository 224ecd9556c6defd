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
from tests.histories.placements import (
    claim,
    device,
    device_class,
    exactly,
    gone,
    listed,
    on,
    option,
    piece,
    result,
)

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
Events = Sequence[placements.Event | None]
FAULT = plans.PlannedFault(name="f", kind="delay-events", carrier="server", text="late")
HALF = {"generation": 2, "count": 2}
TAINT = [{"key": "k", "effect": "NoSchedule"}]
ROOM: dict[str, Any] = {"allowMultipleAllocations": True, "capacity": {"memory": "2"}}
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
CASES: dict[str, tuple[Events, int, bool]] = {
    # The history, the version that the scheduler had dealt with, and whether D2 is missing.
    "not changed": ([*BEGIN, ONE], 0, True),
    "changed only later": ([*BEGIN, ONE, piece("D1")], 0, True),
    "changed before, which may not have been seen": ([*BEGIN, piece("D1", "D2"), ONE], 0, False),
    "changed before, which was seen": ([*BEGIN, piece("D1", "D2"), ONE], 3, True),
    "changed after what was seen": ([*BEGIN, piece("D1", "D2"), None, ONE], 2, False),
    "came after what was seen": (
        [listed(device_class()), listed(piece("D1")), piece("D2", pool="n1", name="t"), ONE],
        2,
        False,
    ),
    "listed after what was seen": ([listed(device_class()), None, *BEGIN[1:], ONE], 2, False),
    "another pool changed": ([*BEGIN, piece("E", pool="n2"), ONE], 0, True),
    "withdrawn": ([*BEGIN, piece("D1"), ONE], 3, False),
    "the slice was deleted and came back": (
        [*BEGIN, gone(piece("D1", "D2")), piece("D1", "D2"), ONE],
        4,
        True,
    ),
    "of an old generation": (
        [
            listed(device_class()),
            listed(piece("D2", name="t")),
            listed(piece("D1", generation=2)),
            ONE,
        ],
        0,
        False,
    ),
    "of a generation that is not complete": (
        [listed(device_class()), listed(piece("D1", "D2", count=2)), ONE],
        0,
        False,
    ),
    "of a new generation that is complete": (
        [*BEGIN, piece("D1", **HALF), piece("D2", name="t", **HALF), ONE],
        4,
        True,
    ),
    "on another node": (
        [listed(device_class()), listed(piece("D1", "D2", nodeName="n2")), ONE],
        0,
        False,
    ),
    "tainted": (
        [listed(device_class()), listed(piece("D1", device("D2", taints=TAINT))), ONE],
        0,
        False,
    ),
    "shared": (
        [
            listed(device_class()),
            listed(piece("D1", device("D2", allowMultipleAllocations=True))),
            ONE,
        ],
        0,
        True,
    ),
    "with binding conditions": (
        [
            listed(device_class()),
            listed(piece("D1", device("D2", bindingConditions=["ready"]))),
            ONE,
        ],
        0,
        True,
    ),
    "the class does not exist": ([*BEGIN[1:], ONE], 0, False),
    "a version of the class refuses it": (
        [*BEGIN, device_class("false"), device_class(), ONE],
        0,
        False,
    ),
    "a request for capacities": (
        [
            *BEGIN,
            claim(
                "c",
                result("D1"),
                requests=[exactly(allocationMode="All", capacity={"requests": {"memory": "1"}})],
                selector=on("n1"),
            ),
        ],
        0,
        False,
    ),
    "a request for capacities that it has": (
        [
            listed(device_class()),
            listed(piece(device("D1", **ROOM), device("D2", **ROOM))),
            claim(
                "c",
                result("D1", shareID="1", consumedCapacity={"memory": "1"}),
                requests=[exactly(allocationMode="All", capacity={"requests": {"memory": "1"}})],
                selector=on("n1"),
            ),
        ],
        0,
        True,
    ),
    "for one of two nodes": (
        [
            *BEGIN,
            claim(
                "c",
                result("D1"),
                requests=[exactly(allocationMode="All")],
                selector=on("n1", "n2"),
            ),
        ],
        0,
        False,
    ),
    "for any node": (
        [*BEGIN, claim("c", result("D1"), requests=[exactly(allocationMode="All")])],
        0,
        False,
    ),
}


@pytest.mark.parametrize(("events", "seen", "is_wrong"), CASES.values(), ids=CASES)
def test_all_devices_are_those_that_the_scheduler_must_have_known(
    events: Events, seen: int, is_wrong: bool
) -> None:
    found = judge(events, seen=seen)
    assert (found.verdict, found.violation_count) == (INVALID if is_wrong else VALID, is_wrong)
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


def either(*, best: placements.Object | None = None, last: int = 1) -> list[placements.Object]:
    """A request for two devices, or else for one."""
    subs = [{"name": "x", **(best or option(count=2))}, {"name": "y", **option(count=last)}]
    return [{"name": "r", "firstAvailable": subs}]


def late(name: str = "c", **fields: Any) -> placements.Event:
    request = fields.pop("request", "r/y")
    fields = {"requests": either(), "selector": on("n1"), **fields}
    return claim(name, result("D1", request=request), **fields)


def waiting(name: str, **fields: Any) -> placements.Event:
    """A claim that is not allocated."""
    return claim(name, requests=fields.pop("requests", [exactly()]), **fields)


FOUR = [listed(device_class()), listed(piece("D1", "D2", "D3", "D4"))]
OTHERS = {
    "nothing else": ([], True),
    "a claim that could leave enough": ([waiting("d"), waiting("e")], True),
    "claims that could have them all": ([waiting("d"), waiting("e"), waiting("f")], False),
    "a claim for all": ([waiting("d", requests=[exactly(allocationMode="All")])], False),
    "an allocation of one": ([claim("d", result("D4"))], True),
    "an allocation of another one than before": (
        [claim("d", result("D4")), claim("d"), claim("d", result("D3"))],
        False,
    ),
    "an allocation that changes in another field": (
        [claim("d", result("D4")), claim("d", result("D4"), users=["p"])],
        True,
    ),
    "a claim that is gone": (
        [waiting("d"), waiting("e"), waiting("f"), gone(waiting("f"))],
        False,
    ),
    "a claim of the first list": ([listed(waiting("d", requests=[exactly(count=3)]))], False),
}


@pytest.mark.parametrize(("before", "is_wrong"), OTHERS.values(), ids=OTHERS)
def test_an_earlier_alternative_is_demanded_if_no_claims_could_use_it_up(
    before: Events, is_wrong: bool
) -> None:
    found = judge([*FOUR, waiting("c", requests=either()), *before, late()])
    assert (found.verdict, found.violation_count) == (INVALID if is_wrong else VALID, is_wrong)
    if not before:
        assert found.violations[0].summary == (
            "claim c: request r got devices for r/y, although n1 had 4 for r/x, which comes before "
            "it, and all claims together could have 2 of them at most"
        )


LATE: dict[str, tuple[placements.Event, bool]] = {
    "the first one": (
        claim(
            "c",
            result("D1", request="r/x"),
            result("D2", request="r/x"),
            requests=either(),
            selector=on("n1"),
        ),
        False,
    ),
    "as many as there are": (late(requests=either(best=option(count=4))), True),
    "more than there are": (late(requests=either(best=option(count=5))), False),
    "all devices": (late(requests=either(best=option(allocationMode="All"))), False),
    "for a capacity": (
        late(requests=either(best=option(capacity={"requests": {"memory": "1"}}))),
        False,
    ),
    "other devices": (late(requests=either(best=option("false"))), False),
    "of another class": (late(requests=either(best=option() | {"deviceClassName": "z"})), False),
    "with a constraint": (late(constraints=[{"matchAttribute": "gpu.example/numa"}]), False),
    "for one of two nodes": (late(selector=on("n1", "n2")), False),
    "on another node": (late(selector=on("n2")), False),
    "too many for one claim": (
        late(requests=[*either(), *(exactly(f"q{n}", count=10) for n in range(4))]),
        False,
    ),
    "without alternatives": (late(request="r", requests=[exactly()]), False),
}


@pytest.mark.parametrize(("event", "is_wrong"), LATE.values(), ids=LATE)
def test_an_earlier_alternative_is_demanded_if_it_is_certain(
    event: placements.Event, is_wrong: bool
) -> None:
    found = judge([*FOUR, event])
    assert any("comes before" in item.text for item in found.violations) == is_wrong


PAIR_D = claim("d", result("D1"), result("D2"))
PAIR_E = claim("e", result("D3"), result("D4"))
USED = [*FOUR, PAIR_D, PAIR_E, claim("d"), claim("e")]
"""More than all devices were in use once, so that the demand of all claims shows nothing."""
MINE, MINE_LATE = waiting("c", requests=either()), late()
COMPETING: dict[str, tuple[list[placements.Event | None], bool]] = {
    # The history, a second for each event, and whether the earlier alternative is demanded.
    "all are free": ([*USED, None, None, MINE, MINE_LATE], True),
    "all were held while it was there": ([*FOUR, MINE, PAIR_D, PAIR_E, MINE_LATE], False),
    "all were held at some moment": (
        [*FOUR, PAIR_D, PAIR_E, MINE, claim("d"), claim("e"), None, MINE_LATE],
        False,
    ),
    "enough were never held": (
        [*FOUR, PAIR_D, claim("d"), PAIR_D, claim("d"), MINE, PAIR_D, MINE_LATE],
        True,
    ),
    "released just before": ([*FOUR, PAIR_D, PAIR_E, claim("d"), claim("e"), MINE, MINE_LATE], True),
    "both released just before": (
        [*FOUR, PAIR_D, claim("e", result("D3")), claim("d"), claim("e"), MINE, MINE_LATE],
        True,
    ),
    "another claim came to hold them later": (
        [*USED, None, waiting("f"), MINE, MINE_LATE, claim("f", result("D1"), result("D2"), result("D3"))],
        False,
    ),
    "a claim that came later has them": (
        [*USED, None, None, MINE, MINE_LATE, claim("f", result("D1"), result("D2"), result("D3"))],
        True,
    ),
    "a claim that never got any": ([*USED, None, waiting("f"), MINE, MINE_LATE], True),
    "two claims that never got any": (
        [*USED, None, waiting("f"), waiting("g"), MINE, MINE_LATE],
        False,
    ),
    "two claims that were gone by then": (
        [*USED, waiting("f"), waiting("g"), gone(waiting("f")), gone(waiting("g")), None, None, MINE, MINE_LATE],
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("events", "is_wrong"), COMPETING.values(), ids=COMPETING)
def test_where_claims_compete_the_order_is_judged_by_what_others_had(
    events: list[placements.Event | None], is_wrong: bool
) -> None:
    seen, holds = placements.fold(events), hold_history.HoldHistory()
    for version, event in enumerate(events, start=1):
        if event is not None:
            holds.see_any(placements.observed(event, version))
    answer = requested_results.check(seen.questions, seen.timelines, {}, building.plan(), holds)
    assert isinstance(answer, verdicts.CheckResult)
    told = [item.text for item in answer.violations if "comes before" in item.text]
    assert bool(told) is is_wrong
    assert answer.unexamined_count == 0
    if is_wrong:
        assert "no other claim had 2 of them, or could have had them" in told[0]


@pytest.mark.parametrize(
    ("request_", "faults", "left"),
    [
        (either(), [], 0),
        (either(), [FAULT], 1),
        (either(best=option(allocationMode="All")), [], 1),
        (either(best=option(capacity={"requests": {"memory": "1"}})), [], 1),
    ],
)
def test_an_order_that_is_not_examined_is_counted(
    request_: list[placements.Object], faults: list[plans.PlannedFault], left: int
) -> None:
    plan = msgspec.structs.replace(building.plan(), faults=faults)
    found = judge(
        [*FOUR, waiting("d"), waiting("e"), waiting("f"), late(requests=request_)], plan=plan
    )
    assert found.unexamined_count == left
    assert ("the order was not examined" in found.reason) is bool(left)


def test_the_best_of_three_alternatives_is_named_that_could_be_used() -> None:
    subs = [{"name": name, **option(count=count)} for name, count in [("x", 9), ("y", 2), ("z", 1)]]
    requests = [{"name": "r", "firstAvailable": subs}]
    many = [listed(device_class()), listed(piece(*(f"D{number}" for number in range(12))))]
    found = judge([*many, waiting("c", requests=requests), late(request="r/z", requests=requests)])
    assert "although n1 had 12 for r/x, which comes before it" in found.violations[0].text
    few = judge([*FOUR, late(request="r/z", requests=requests)])
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
    before = [*FOUR, waiting("c", requests=either())]
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
    most = [waiting(f"c{number}", requests=[exactly(count=32)]) for number in range(129)]
    demand = placements.fold(most).demand
    assert demand.until(129) == device_demand.COUNTED_MAX
    assert demand.until(130) == demand.until(1000) == float("inf")
