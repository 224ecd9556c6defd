"""Random interleavings: the correct parts keep the invariant, and each defect breaks it before
long.
"""

import pytest

from harness.subject import assembling
from tests.detection.schedules import churning

pytestmark = pytest.mark.detection
DEFECTS = (
    "assume-cache-early-return",
    "assume-cache-shared-drain",
    "finalizer-event-overwrites-assumed",
    "gather-not-atomic",
    "in-flight-removed-first",
    "revision-bumped-late",
    "revision-compared-early",
)
"""Those that a churn of claims shows; `test_schedules` has where the others show."""
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


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect: str) -> None:
    for seed in range(ROUNDS_MAX):
        if churning.Churn(assembling.parts([defect]), seed=seed, cycles=CYCLES).run().missed:
            return
    pytest.fail(f"{defect}: no device was missed in {ROUNDS_MAX} rounds")
