"""Every hazard of the correct scheduler is found without its remedy, and gone with it.

`FLAKE_HUNT_SCHEDULES=5000 python -m pytest tests/detection/test_remedies.py` looks further.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from harness.client import apis
from harness.explore.search import search_campaign, tokens
from harness.explore.worlds import world_catalogue
from harness.scenario import hazards
from harness.subject import defects, remedies
from harness.subject.plugin import claim_binding, scheduling_attempts
from harness.subject.remedies import (
    bind_again,
    fence_predecessor,
    keep_in_flight,
    settled_claims,
)
from harness.subject.scheduling import binding_cycle
from tests.support import world_searches

pytestmark = [pytest.mark.detection, pytest.mark.slow]
SCHEDULES_WITH_REMEDY = int(os.environ.get("FLAKE_HUNT_SCHEDULES", "30"))
"""In which it must not be found any more; without the remedy, each is found in fewer."""
HAZARDS = {
    name: (spec.hazard.id, spec.hazard.remedy)
    for name, spec in world_catalogue.WORLDS.items()
    if spec.hazard and spec.hazard.remedy
}
"""The hypothesis and the remedy of each world that fails without it."""
OF_DEFECTS = [
    (world, defect, page.hazard.remedy)
    for page in hazards.pages().values()
    if page.hazard.remedy
    for defect in page.hazard.defects
    for world in defects.CATALOGUE.named(defect).facts.worlds
]
"""World, defect and remedy of each hazard that the correct subject does not have."""
NO_REMEDY = [
    name
    for name, spec in world_catalogue.WORLDS.items()
    if spec.hazard and spec.hazard.remedy is None
]


def explored(world: str, *chosen: str, **changes: object) -> search_campaign.SearchProgress:
    return world_searches.explored(world, **{"seed": 5, "remedies": chosen, **changes})


SEEDS = {
    "binding-without-answer": 1,
    "failover": 2,
    "pod-ended-with-two-claims": 59,
    "pod-last-seen-without-claims": 7,
    "reallocated-unseen": 1,
    "reallocation-overtaken": 3,
    "reservation-taken-back-late": 7,
    "second-claim-deleted": 6,
}
"""Seeds with which the searches that would take longest find something soon."""
FOUND = {
    "H8": "entry-1 of one pod has the claims",
    "H9": "leaked: claim-1 is reserved for pod-1",
    "H13": "is reserved for pod-1, which has ended",
    **dict.fromkeys(("H11", "H18"), "bound: pod-1 is bound, but claim-1 is not reserved for it"),
    **dict.fromkeys(("H12", "H14", "H15"), "stuck: pod-1 not bound"),
}
"""Words of the finding by hypothesis; of the others: a device is allocated twice."""


def test_every_remedy_is_there_for_a_hazard() -> None:
    there = {remedy for _, remedy in HAZARDS.values()} | {remedy for *_, remedy in OF_DEFECTS}
    assert there == set(remedies.CATALOGUE.names())
    hypotheses = {"H1", "H2", "H3", "H8", "H9", "H11", "H12", "H13", "H14", "H15", "H18"}
    assert {hypothesis for hypothesis, _ in HAZARDS.values()} == hypotheses


@pytest.mark.parametrize("scenario", HAZARDS)
def test_without_its_remedy_a_hazard_is_found(scenario: str) -> None:
    progress = explored(scenario)
    assert progress.findings, f"not in {progress.schedules} schedules"
    finding, decisions = progress.findings[0]
    assert FOUND.get(HAZARDS[scenario][0], "is allocated to claim-") in finding
    token = tokens.Token(scenario=scenario, defects=(), decisions=tuple(decisions))
    assert search_campaign.replay(token).finding == finding


@pytest.mark.parametrize(("world", "defect", "remedy"), OF_DEFECTS)
def test_a_hazard_that_is_a_defect_is_gone_with_its_remedy(
    world: str, defect: str, remedy: str
) -> None:
    assert world_searches.explored(world, defect, seed=SEEDS.get(world, 5)).findings
    changes = {"remedies": (remedy,), "schedules": SCHEDULES_WITH_REMEDY, "seed": 5}
    fixed = world_searches.explored(world, defect, **changes)
    assert not fixed.findings


@pytest.mark.parametrize("scenario", HAZARDS)
@pytest.mark.parametrize("strategy", ["pct", "random"])
def test_with_its_remedy_a_hazard_is_gone_and_nothing_is_stuck(
    scenario: str, strategy: str
) -> None:
    schedules = SCHEDULES_WITH_REMEDY
    progress = explored(scenario, HAZARDS[scenario][1], strategy=strategy, schedules=schedules)
    assert progress.findings == []
    assert progress.schedules == schedules
    assert len(progress.distinct) > schedules / 3


@pytest.mark.parametrize("scenario", HAZARDS)
def test_another_remedy_does_not_help(scenario: str) -> None:
    others = set(remedies.CATALOGUE.names()) - {HAZARDS[scenario][1]}
    assert explored(scenario, *sorted(others), seed=SEEDS.get(scenario, 5)).findings


@pytest.mark.parametrize(
    "scenario",
    [name for name in world_catalogue.WORLDS if "users" not in name and name not in NO_REMEDY],
)
def test_all_remedies_together_harm_no_world(scenario: str) -> None:
    assert explored(scenario, *remedies.CATALOGUE.names(), schedules=15).findings == []


@pytest.mark.parametrize("is_assumed", [True, False])
def test_the_subject_assumes_that_a_reservation_was_taken_back(
    monkeypatch: pytest.MonkeyPatch, *, is_assumed: bool
) -> None:
    """Hypothesis H10 shows without it after one lost answer, as in kube-scheduler."""
    if not is_assumed:
        monkeypatch.setattr(claim_binding.ClaimBinder, "_assume_unreserved", lambda *_: None)
    remedy, sizes = "keep-in-flight-until-known", (("faults_max", 1),)
    progress = explored("reservation-taken-back", remedy, sizes=sizes, schedules=50, seed=1)
    found = [finding for finding, _ in progress.findings]
    words = "bound: pod-1 is bound, but claim-1 is not reserved for it"
    assert found == ([] if is_assumed else [words])


def test_a_write_of_post_filter_has_failed_where_the_pod_waits() -> None:
    _, decisions = explored("allocation-not-freed").findings[0]
    token = tokens.Token(scenario="allocation-not-freed", defects=(), decisions=tuple(decisions))
    told = [step.name for step in search_campaign.replay(token, record=True).steps]
    assert "post-filter.failed" in told


def test_a_successor_waits_for_the_events_of_its_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fence_predecessor.FencingLeadership,
        "_newest_claims",
        lambda leadership, _: leadership._cache.objects(),
    )
    progress = explored("leader-changes", *remedies.CATALOGUE.names(), seed=9, schedules=4000)
    assert "is allocated to claim-" in progress.findings[0][0]


def test_several_lost_writes_are_settled_too() -> None:
    """Answers to the writes that settle a claim get lost as well."""
    changes = {"sizes": (("faults_max", 4),), "schedules": SCHEDULES_WITH_REMEDY}
    progress = explored("answer-lost", "keep-in-flight-until-known", **changes)
    assert progress.findings == []


def without_a_fence(api: apis.Api, unsettled: dict[str, Any]) -> dict[str, Any] | None:
    """Settle a claim as one might think is enough: by a read alone."""
    return api.get(apis.CLAIMS, unsettled["metadata"]["name"], namespace="default")


def test_a_read_without_a_fence_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled_claims, "settled", without_a_fence)
    for scenario in ("answer-lost", "failover"):
        progress = explored(scenario, HAZARDS[scenario][1], seed=11, schedules=4000)
        assert "is allocated to claim-" in progress.findings[0][0]


def test_a_released_claim_must_be_assumed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep_in_flight.KeepInFlightBinder, "_assume_newest", lambda *_: None)
    progress = explored("answer-lost", "keep-in-flight-until-known", schedules=4000)
    assert "is allocated to claim-" in progress.findings[0][0]


@pytest.mark.parametrize(
    ("whole", "half", "left_out", "seed"),
    [
        (fence_predecessor.FencingLeadership, "_unbound_pods", lambda *_: set(), 1),
        (fence_predecessor, "_takes_back", lambda _: False, 37),
    ],
    ids=["the successor fences no reservations", "the predecessor's patch has no version"],
)
def test_one_half_against_a_late_removal_is_not_enough(
    monkeypatch: pytest.MonkeyPatch,
    whole: object,
    half: str,
    left_out: Callable[..., object],
    seed: int,
) -> None:
    monkeypatch.setattr(whole, half, left_out)
    world = "reservation-taken-back-late"
    progress = explored(world, "fence-predecessor", seed=seed, schedules=4000)
    assert FOUND["H18"] in progress.findings[0][0]


def test_a_predecessor_must_not_go_on_after_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fence_predecessor.FencingLeadership, "on_stopped_leading", lambda _: None)
    progress = explored("failover", "fence-predecessor", schedules=4000)
    assert "is allocated to claim-" in progress.findings[0][0]


def test_a_read_without_a_second_binding_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_alone(binders: bind_again.BindAgainBinders, binding: binding_cycle.Binding) -> bool:
        if binders._read(binding)["spec"].get("nodeName"):
            return True
        raise scheduling_attempts.BindingError("not bound")

    monkeypatch.setattr(bind_again.BindAgainBinders, "_is_bound_now", read_alone)
    progress = explored("binding-without-answer", "bind-again-until-known")
    assert FOUND["H11"] in progress.findings[0][0]
