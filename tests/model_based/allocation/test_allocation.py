"""The scheduler's allocations against a solver without tricks, on random problems.

FLAKE_HUNT_PROBLEMS=20000 tries more of them.
"""

import collections
import os

import pytest

from harness.subject.allocation import allocated_states, allocators, inventories
from tests.model_based.allocation import comparing, problems, solving
from tests.support import cases

PROBLEMS = int(os.environ.get("FLAKE_HUNT_PROBLEMS", "300"))
FEATURES_MIN = 1
"""How often each feature has to occur in the problems of the suite."""


def test_the_first_right_assignment_is_found() -> None:
    features: collections.Counter[str] = collections.Counter()
    for seed in range(PROBLEMS):
        features += comparing.compare(seed)
    assert {name: count for name, count in features.items() if count < FEATURES_MIN} == {}
    assert features["outcome: allocated"] > PROBLEMS // 5
    assert features["outcome: given up"] == 0


@pytest.mark.parametrize(("defect", "seed"), cases.read(__file__, "found").items())
def test_a_known_defect_is_found(defect: str, seed: int) -> None:
    """The problem finds it alone: the default subject agrees there."""
    assert comparing.is_found(seed, [defect])
    assert not comparing.is_found(seed, [])


@pytest.mark.parametrize("seed", range(20))
def test_no_search_changes_what_it_was_given(seed: int) -> None:
    problem = problems.Problem(seed)
    classes = {item["metadata"]["name"]: item for item in problem.classes}
    (pod, *_) = [step for step in problem.steps if isinstance(step, problems.Pod)]
    state = allocated_states.AllocatedState()
    for claim in problem.claims:
        state.add(claim["status"]["allocation"])
    allocator = allocators.Allocator(
        inventories.snapshot_of(problem.slices), state, classes, pod.own, timeout_s=0
    )

    def answer() -> object:
        try:
            return allocator.allocate(problem.nodes[0])
        except Exception as error:
            return str(error)

    assert answer() == answer()


def test_the_solver_says_when_it_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "JUDGED_MAX", 3)
    outcomes: collections.Counter[str] = collections.Counter()
    for seed in range(30):
        outcomes += comparing.compare(seed)
    assert outcomes["outcome: given up"] > 0
