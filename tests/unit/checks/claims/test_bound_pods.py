"""Pods that were bound before their claims were theirs, or where these cannot be used."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claims import bound_pods
from harness.history import plans
from tests.histories import building, judged_runs, placements
from tests.histories.placements import claim, gone, labelled, listed, node, on, pod, result
from tests.histories.words import placement_words
from tests.support import text_tables

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
FAULT = plans.PlannedFault(
    name="f", kind="delay-request", carrier="server", text="late", drawn_by="chaos"
)
NODES = [listed(node("n1", zone="a")), listed(node("n2", zone="b"))]
D1 = result("D1")
MINE = claim("c", D1, selector=on("n1"), users=["p"])
NEW, BOUND = pod("p", "c"), pod("p", "c", bound_to="n1")


def judge(
    events: Sequence[placements.Event | None], faults: Sequence[plans.PlannedFault] = ()
) -> verdicts.CheckResult:
    plan = building.plan(faults=faults)
    return judged_runs.examined(bound_pods.judge(placements.evidence([*NODES, *events], plan)))


WORDS = {
    "NEW": NEW,
    "BOUND": BOUND,
    "MINE": MINE,
    "NO_CLAIM": pod("p", generated={"made": None}),
    "NO_CLAIM_BOUND": pod("p", generated={"made": None}, bound_to="n1"),
}


def cases(part: str = "") -> list[Any]:
    return text_tables.cases(__file__, "bound_cases.txt", part)


@pytest.mark.parametrize(("history", "problem"), cases())
def test_what_is_wrong_with_a_binding_is_named(history: str, problem: str) -> None:
    found = judge(placement_words.history(history, WORDS))
    assert (found.verdict, found.examined_count) == (INVALID if problem else VALID, 1)
    for violation in found.violations:
        assert violation.summary.startswith("pod p: ")
        assert problem in violation.text
        assert violation.objects[0].kind == "Pod"


@pytest.mark.parametrize("history", cases("taken back"))
def test_only_by_chance_a_binding_may_come_after_its_reservation(history: str) -> None:
    """A fault of the scenario does not excuse it (H10), one that a nemesis has drawn does."""
    events = placement_words.history(history, WORDS)
    assert judge(events).verdict is INVALID
    assert judge(events, [msgspec.structs.replace(FAULT, drawn_by="")]).verdict is INVALID
    assert judge(events, [FAULT]).verdict is VALID
    moving = plans.PlannedFault(name="f", kind="reallocate-claims", carrier="run", text="moved")
    assert judge(events, [moving]).verdict is VALID


@pytest.mark.parametrize(
    ("meta", "verdict"),
    [
        ({"finalizers": ["a/b"]}, VALID),
        ({"finalizers": ["a/b"], "deletionTimestamp": "2026-11-22T15:00:00Z"}, INVALID),
        ({}, INVALID),
    ],
)
def test_a_claim_that_is_removed_in_spite_of_its_finalizer_is_not_the_fault_of_a_binding(
    meta: dict[str, Any], verdict: verdicts.Verdict
) -> None:
    removed = dataclasses.replace(
        gone(MINE), obj={**MINE.obj, "metadata": {**MINE.obj["metadata"], **meta}}
    )
    assert judge([NEW, MINE, removed, BOUND]).verdict is verdict
    of_two = [pod("p", "c", "d"), MINE, removed, pod("p", "c", "d", bound_to="n1")]
    assert judge(of_two).verdict is verdict


@pytest.mark.parametrize("history", cases("not examined"))
def test_what_no_scheduler_has_bound_is_not_examined(history: str) -> None:
    events = placement_words.history(history, WORDS)
    answer = bound_pods.judge(placements.evidence([*NODES, *events]))
    assert isinstance(answer, verdicts.NotExamined)
    assert answer.reason == "no pod with claims was bound, so nothing was examined"


@pytest.mark.parametrize("resource", ["pods", "resourceclaims", "nodes"])
def test_a_gap_may_hide_a_reservation(resource: str) -> None:
    answer = bound_pods.judge(placements.evidence([*NODES, NEW, BOUND], gap=resource))
    assert isinstance(answer, verdicts.NotExamined)
    assert answer.reason.startswith(f"versions of {resource} may be missing")


def test_runs_owe_it_that_observe_nodes() -> None:
    plan = building.plan()
    assert not bound_pods.applies(plan)
    resources = ["resourceclaims", "pods", "nodes"]
    assert bound_pods.applies(msgspec.structs.replace(plan, resources=resources))


def test_a_claim_that_was_recorded_before_is_known_at_the_binding() -> None:
    waiting = [pod("p", generated={}), pod("p", generated={"made": "c"}), pod("p", generated={})]
    events = [waiting[0], MINE, *waiting[1:], pod("p", generated={}, bound_to="n1")]
    assert judge(events).verdict is VALID
    assert judge([waiting[0], MINE, events[-1]]).verdict is INVALID


def test_the_reason_counts_bindings() -> None:
    assert judge([NEW, MINE, BOUND]).reason.startswith("1 binding examined; ")
    other = [pod("q", "c"), claim("c", D1, selector=on("n1"), users=["p", "q"])]
    both = judge([NEW, MINE, BOUND, *other, pod("q", "c", bound_to="n1")])
    assert both.reason.startswith("2 bindings examined; ")


def test_a_selector_that_the_judge_does_not_know_is_no_violation() -> None:
    strange = claim("c", D1, selector=labelled("zone", "a", operator="Near"), users=["p"])
    assert judge([NEW, strange, BOUND]).verdict is VALID


def test_a_violation_names_the_pod_and_the_claims_that_there_are() -> None:
    made = pod("p", "c", generated={})
    found = judge([made, MINE, pod("p", "c", generated={}, bound_to="n1")])
    [violation] = found.violations
    assert [(item.kind, item.name) for item in violation.objects] == [
        ("Pod", "p"),
        ("ResourceClaim", "c"),
    ]
