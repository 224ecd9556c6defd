"""Random interleavings: the correct parts keep the invariant, and each defect breaks it before
long.
"""

import pytest

from harness.subject import assembling, defects
from tests.detection import claim_plays, counter_plays, placement_plays
from tests.detection.schedules import churning, condition_plays, extended_plays, slice_plays

pytestmark = pytest.mark.detection
IN_WORLDS = {
    "admin-access-charged",
    "all-among-alternatives",
    "all-ends-attempt",
    "all-in-part",
    "all-with-counters",
    "allocated-claim-not-scored",
    "allocation-without-finalizer",
    "capacity-wraps",
    "claim-deletion-ignored",
    "config-repeated",
    "config-widened",
    "counters-by-pool-name",
    "counters-changed",
    "counters-not-given-back",
    "deallocated-claim-reserved",
    "deallocation-event-missed",
    "distinct-by-request",
    "each-share-charged",
    "filter-shares-call-state",
    "gone-device-not-counted",
    "group-plans-mixed-up",
    "in-flight-overwritten",
    "intersection-stays-narrow",
    "negative-capacity",
    "negative-counters",
    "no-unreserve",
    "not-cached-is-final",
    "pod-status-ignored",
    "ranges-in-integers",
    "share-charged-again",
    "share-taken-whole",
    "slice-event-ignored",
    "taint-rule-kills",
    "tolerations-lost",
    "unindexed-pod",
    "unreserve-restores-written-claim",
}
"""Defects that no churn of claims shows; each is found in a world of its own."""
CYCLES = 60
ROUNDS_MAX = 40


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pause_probability", [0.0, churning.PAUSE_PROBABILITY])
def test_the_correct_parts_never_lose_sight_of_a_device(
    seed: int, pause_probability: float
) -> None:
    churn = churning.Churn(
        assembling.parts(()), seed=seed, cycles=CYCLES * 2, pause_probability=pause_probability
    )
    assert churn.run().missed == []
    assert churn.gathers > 0


@pytest.mark.parametrize(
    "defect",
    sorted(
        set(defects.CATALOGUE.names("scheduler"))
        - slice_plays.EXPOSED
        - counter_plays.EXPOSED
        - extended_plays.ONLY_HERE
        - condition_plays.EXPOSED
        - placement_plays.EXPOSED
        - claim_plays.EXPOSED
        - IN_WORLDS
    ),
)
def test_a_defect_is_found(defect: str) -> None:
    for seed in range(ROUNDS_MAX):
        if churning.Churn(assembling.parts([defect]), seed=seed, cycles=CYCLES).run().missed:
            return
    pytest.fail(f"{defect}: no device was missed in {ROUNDS_MAX} rounds")
