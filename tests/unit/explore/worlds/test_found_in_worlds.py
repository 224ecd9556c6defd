"""Worlds find what is wrong, also what no known defect has, and say what it is."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.client import apis
from harness.cluster.dra import claim_managers
from harness.explore import output
from harness.explore.search import search_campaign, shrink_world, tokens
from harness.explore.worlds import chosen_parts, world_catalogue
from harness.subject.extended_resources import extended_claims
from harness.subject.objects import claims
from harness.subject.plugin import (
    binding_conditions,
    claim_binding,
    dynamic_resources,
    scheduling_attempts,
)
from harness.subject.queueing import queue_parts
from harness.subject.releases import differences
from tests.support import world_searches

pytestmark = [pytest.mark.detection, pytest.mark.slow]
Object = dict[str, Any]
Replace = Callable[..., None]


@pytest.fixture
def replace_parts(monkeypatch: pytest.MonkeyPatch) -> Replace:
    """Return a function that puts classes into all worlds: `replace("scheduler", plugin=…)`."""

    def replace(actor: str, **classes: type[Any]) -> None:
        correct = chosen_parts.of()
        parts = dataclasses.replace(getattr(correct, actor), **classes)
        wrong = dataclasses.replace(correct, **{actor: parts})
        monkeypatch.setattr(chosen_parts, "of", lambda *_: wrong)

    return replace


def finding(world: str, *defects: str, **changes: object) -> str:
    """Return what is found first; empty if nothing is."""
    found = world_searches.explored(world, *defects, **changes).findings
    return found[0][0] if found else ""


@pytest.mark.parametrize("world", ["two-claims-one-device", "four-claims-four-devices"])
def test_a_pod_whose_reserve_fails_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, world: str
) -> None:
    """Nothing of the attempt is left: all pods that can run do, and the books are right."""
    failed: list[Object] = []
    put_in_flight = dynamic_resources.DynamicResources._put_in_flight

    def fail_once(plugin: dynamic_resources.DynamicResources, planned: Object) -> None:
        if not failed:
            failed.append(planned)
            raise scheduling_attempts.AttemptError("the claim has changed")
        put_in_flight(plugin, planned)

    monkeypatch.setattr(dynamic_resources.DynamicResources, "_put_in_flight", fail_once)
    token = tokens.Token(scenario=world, defects=(), decisions=())
    run = search_campaign.replay(token, record=True)
    assert failed
    assert run.finding is None
    told = [dict(step.fields).get("reason", "") for step in run.steps]
    assert 'running Reserve plugin "DynamicResources": the claim has changed' in told


@pytest.mark.parametrize(
    ("defect", "seed"), [("gather-not-atomic", 3), ("assume-cache-shared-drain", 21)]
)
def test_a_capacity_that_is_exceeded_is_found(defect: str, seed: int) -> None:
    found = finding("shares-of-one-device", defect, seed=seed)
    assert found == "capacity memory of device-0: 12 of 10 are used"


def test_partitions_that_exceed_their_counters_are_found() -> None:
    assert finding("partitions-of-one-device", "gather-not-atomic").startswith(("device", "count"))


def overwriting(api: apis.Api, claim: Object, pod: Object) -> Object:
    return api.update_status(apis.CLAIMS, without_version(claims.with_reservation(claim, pod)))


def without_version(claim: Object) -> Object:
    meta = {key: value for key, value in claim["metadata"].items() if key != "resourceVersion"}
    return {**claim, "metadata": meta}


class OverwritingBinder(claim_binding.ClaimBinder):
    """Reservations of others get lost."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "reserve": overwriting})


@pytest.mark.parametrize("world", ["three-pods-one-claim", "one-reservation-left"])
def test_a_reservation_that_overwrites_others_is_found(replace_parts: Replace, world: str) -> None:
    replace_parts("scheduler", claim_binder=OverwritingBinder)
    assert "is bound, but claim-1 is not reserved for it" in finding(world)


def test_a_patch_that_is_not_sent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(claim_binding.RESERVE_BY, "patch", lambda _api, claim, _pod: claim)  # type: ignore[arg-type]
    found = finding("three-pods-one-claim-by-patch")
    assert "is bound, but claim-1 is not reserved for it" in found


def test_a_reservation_of_a_claim_that_has_moved_is_found(replace_parts: Replace) -> None:
    """As kube-scheduler keeps it."""
    replace_parts("scheduler", claim_binder=differences.AnyClaimBinder)
    found = finding("allocation-freed-for-another-pod")
    assert "is bound, but claim-1 is allocated on another node" in found


class OnceReadingPlugin(dynamic_resources.DynamicResources):
    """A claim may leave the in-flight claims after it was read."""

    def _claims_of(self, pod: Object) -> list[Object]:
        found = claims.of_pod(pod, self._cache.get)
        for claim in found:
            if not claims.allocation_of(claim):
                self._require_not_in_flight(claim)
        return found


def test_an_old_version_that_is_restored_is_found(replace_parts: Replace) -> None:
    """Each of the three is as in kube-scheduler; together they are kubernetes#140263."""
    replace_parts(
        "scheduler",
        plugin=OnceReadingPlugin,
        claim_binder=differences.AnyPlanForgottenBinder,
        assume_cache=differences.AssumedNotStoredCache,
    )
    found = finding("allocation-freed-for-another-pod", schedules=6000, seed=19)
    assert found.startswith("books: the scheduler believes in no device")


def test_an_answer_that_comes_before_its_event_is_found() -> None:
    defect = "assume-cache-shared-drain"
    assert finding("answers-first", defect, strategy="random", seed=22, schedules=40)


def test_without_other_claims_traffic_no_variant_can_hurt() -> None:
    two, defect = ("claims", 2), "assume-cache-early-return"
    alike = {"seed": 4, "schedules": 40}
    assert finding("answers-first", defect, sizes=(two, ("faults_max", 0)), **alike) == ""
    assert finding("answers-first", defect, sizes=(two,), **alike).startswith("device")


def test_a_change_that_is_forgotten_during_an_attempt_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The queue moves the pods that wait, but not the one that is in flight."""
    monkeypatch.setattr(queue_parts.InFlightEvents, "missed", lambda *_: [])
    assert finding("new-generation").startswith("stuck: pod-")


def test_an_extended_claim_that_no_pod_names_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet would start such a pod without its devices."""
    monkeypatch.setattr(extended_claims, "record", lambda *_: None)
    assert finding("extended-claims").startswith("extended: ")


def test_a_broken_device_that_is_kept_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding_conditions.BindingConditions, "have_failed", lambda *_: False)
    assert finding("binding-condition-fails").startswith("stuck: pod-")


class HastyManager(claim_managers.ClaimManager):
    """A pod does not wait while its claim is being unprepared, as in kubernetes#140527."""

    def _refer(self, pod: Any, claim: Any) -> Any:
        entry = self._find(claim, pod)
        self._use(entry, pod["metadata"]["uid"], pod["metadata"]["name"])
        return entry


def test_a_claim_that_is_unprepared_under_a_pod_is_found(replace_parts: Replace) -> None:
    replace_parts("kubelet", manager=HastyManager)
    assert "runs, but claim-1 is not prepared" in finding("prepare-against-unprepare")


def test_such_a_finding_shrinks_and_is_told() -> None:
    wanted = world_searches.hunt("prepare-against-unprepare", "driver-released-first")
    *_, progress = search_campaign.explore(wanted)
    token = shrink_world.smallest(wanted.token(progress.findings[0][1]))
    assert dict(token.sizes) == {"pods": 2}
    run = search_campaign.replay(token, record=True)
    assert run.finding is not None
    assert run.finding.startswith("prepared: ")
    told = output.step_lines(run.steps, run.names, run.finding)
    assert any("unprepares claim-1" in line for line in told)
    assert any("has prepared claim-2" in line for line in told)


def test_a_world_without_sizes_says_so() -> None:
    with pytest.raises(errors.ScenarioError, match="forced-deletion has no sizes"):
        world_catalogue.sized("forced-deletion", {"pods": 2})
