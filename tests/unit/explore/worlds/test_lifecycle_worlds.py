"""The worlds about the whole life of a pod: each finds what is wrong, and says what it is."""

from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.cluster.dra import claim_managers
from harness.explore.output import stories
from harness.explore.search import search_campaign, shrink_world
from harness.explore.worlds import world_catalogue

pytestmark = pytest.mark.detection
Replace = Callable[..., None]


def hunt(world: str, *defects: str, **changes: object) -> search_campaign.Hunt:
    arguments = {"strategy": "pct", "seed": 3, "schedules": 1000, "time_s": None, **changes}
    return search_campaign.Hunt(scenario=world, defects=defects, **arguments)  # type: ignore[arg-type]


def finding(world: str, *defects: str, **changes: object) -> str:
    """Return what is found first; empty if nothing is."""
    *_, progress = search_campaign.explore(hunt(world, *defects, **changes))
    return progress.findings[0][0] if progress.findings else ""


def test_a_pod_that_is_forgotten_with_its_claim_is_found() -> None:
    assert finding("claim-lost-while-pod-waits", "pod-status-ignored") == "stuck: pod-1 not bound"


def test_a_second_claim_of_an_entry_is_found() -> None:
    found = finding("one-claim-per-entry", "controller-creations-forgotten")
    assert "of one pod has the claims pod-1-entry-" in found


def test_a_creation_without_an_answer_is_done_again() -> None:
    assert "of one pod has the claims pod-1-entry-" in finding("creation-without-answer")


@pytest.mark.parametrize("world", ["prepare-against-unprepare", "forced-deletion"])
def test_a_device_that_is_given_free_too_early_is_found(world: str) -> None:
    found = finding(world, "driver-released-first")
    assert found == "prepared: gpu.example/worker-0/device-0 for claim-2 while it is for claim-1"


class HastyManager(claim_managers.ClaimManager):
    """A pod does not wait while its claim is being unprepared, as in kubernetes#140527."""

    def _refer(self, pod: Any, claim: Any) -> Any:
        entry = self._find(claim, pod)
        self._use(entry, pod["metadata"]["uid"], pod["metadata"]["name"])
        return entry


def test_a_claim_that_is_unprepared_under_a_pod_is_found(replace_parts: Replace) -> None:
    replace_parts("kubelet", manager=HastyManager)
    assert "runs, but claim-1 is not prepared" in finding("prepare-against-unprepare")


def test_a_driver_that_refuses_nothing_is_found() -> None:
    found = finding("forced-deletion-unguarded")
    assert found == "prepared: gpu.example/worker-0/device-0 for claim-2 while it is for claim-1"
    hazard = world_catalogue.WORLDS["forced-deletion-unguarded"].hazard
    assert hazard is not None
    assert hazard.hypothesis == "kubernetes#141471"


def test_such_a_finding_shrinks_and_is_told() -> None:
    wanted = hunt("prepare-against-unprepare", "driver-released-first")
    *_, progress = search_campaign.explore(wanted)
    token = shrink_world.smallest(wanted.token(progress.findings[0][1]))
    assert dict(token.sizes) == {"pods": 2}
    run = search_campaign.replay(token, record=True)
    assert run.finding is not None
    assert run.finding.startswith("prepared: ")
    told = stories.step_lines(run.steps, run.names, run.finding)
    assert any("unprepares claim-1" in line for line in told)
    assert any("has prepared claim-2" in line for line in told)


def test_a_world_without_sizes_says_so() -> None:
    with pytest.raises(errors.ScenarioError, match="forced-deletion has no sizes"):
        world_catalogue.sized("forced-deletion", {"pods": 2})


def test_a_kubelet_that_forgets_its_claims_is_found() -> None:
    assert "while it is for claim-" in finding("kubelet-restarted", "kubelet-forgets-claims")


def test_a_driver_that_keeps_the_parameters_of_another_claim_is_found() -> None:
    found = finding("prepare-against-unprepare", "driver-stale-parameters")
    assert found.startswith("parameters: the containers of claim-2 get")
