"""The allocator against a solver without tricks, on random problems over all features.

`python -m tests.model_based.allocation.test_allocation 5000` tries more of them, and prints how
often each feature occurred.
"""

import collections
import sys
from typing import Any

import pytest

from harness.subject.allocation import allocated_states, allocators, inventories
from tests.model_based.allocation import problems, solving
from tests.support import api_objects

Object = dict[str, Any]
PROBLEMS = 800
FEATURES_MIN = 10
"""How often each feature has to occur in the problems of the suite."""
REFUSED = "refused"


def solution(problem: problems.Problem) -> list[solving.Row] | str | None:
    """The assignment that the solver without tricks finds."""
    solver = solving.Solver(problem.slices, problems.NODE, problem.allocated)
    try:
        return solver.solve(problem.claims)
    except solving.Refused:
        return REFUSED


def allocation(problem: problems.Problem) -> list[solving.Row] | str | None:
    """The assignment that the allocator finds, in the form of the solver."""
    state = allocated_states.AllocatedState()
    for device, shares in problem.allocated.items():
        if shares:
            state.shares[device] = {str(index): share for index, share in enumerate(shares)}
        else:
            state.devices.add(device)
    allocator = allocators.Allocator(
        inventories.snapshot_of(problem.slices),
        state,
        {api_objects.CLASS: api_objects.device_class()},
        problem.claims,
    )
    try:
        found = allocator.allocate(problems.NODE)
    except allocators.AllocationError as error:
        return "violated" if "cannot add device" in str(error) else REFUSED
    return (
        None
        if found is None
        else [
            _row(index, row)
            for index, allocated in enumerate(found)
            for row in allocated["devices"]["results"]
        ]
    )


def _row(claim: int, row: Object) -> solving.Row:
    consumed = None
    if "shareID" in row:
        consumed = tuple(sorted((k, int(v)) for k, v in row.get("consumedCapacity", {}).items()))
    device = f"{row['driver']}/{row['pool']}/{row['device']}"
    return claim, row["request"], device, bool(row.get("adminAccess")), consumed


def compare(seed: int) -> collections.Counter[str]:
    """Compare one problem; return its features and the kind of its outcome."""
    problem = problems.Problem(seed)
    found, expected = allocation(problem), solution(problem)
    features = collections.Counter(problem.features.keys())
    if found == "violated":  # as upstream: all devices are wanted, and a constraint excludes one
        assert problem.features["all devices"]
        features["outcome: all devices violate a constraint"] += 1
        return features
    assert found == expected, f"problem {seed}"
    kind = found if isinstance(found, str) else "none" if found is None else "allocated"
    features[f"outcome: {kind}"] += 1
    return features


def test_the_first_right_assignment_is_found() -> None:
    features: collections.Counter[str] = collections.Counter()
    for seed in range(PROBLEMS):
        features += compare(seed)
    assert {name: count for name, count in features.items() if count < FEATURES_MIN} == {}


@pytest.mark.parametrize("seed", range(20))
def test_no_search_changes_what_it_was_given(seed: int) -> None:
    problem = problems.Problem(seed)
    assert allocation(problem) == allocation(problem)


if __name__ == "__main__":
    total: collections.Counter[str] = collections.Counter()
    for number in range(int(sys.argv[1])):
        total += compare(number)
    for feature, occurred in sorted(total.items()):
        sys.stdout.write(f"{feature:45}{occurred:7}\n")
