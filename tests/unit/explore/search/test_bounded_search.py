"""The search that the whole search is compared with loses nothing; and, with it, every order of
faults does no harm to the scheduler.
"""

import functools
from collections.abc import Iterator, Sequence

import pytest

from harness.explore.runtime import choices
from harness.explore.search import explored_run, search_campaign, tokens
from harness.explore.worlds import world_catalogue
from tests.support import bounded_search, small_programs

pytestmark = [pytest.mark.detection, pytest.mark.slow]
LARGE = {19}
"""Seeds of programs whose search without any reduction takes seconds."""
PARTS = (19, 35, 66, 76, 80)
"""Seeds of programs in which a task uses what a lock guards that it does not hold."""


class Forgetful(dict[int, int]):
    """Knows no state again."""

    def get(self, key: int, default: int = -1) -> int:  # type: ignore[override]
        del key
        return default


def searched(
    tasks: Sequence[Sequence[small_programs.Body]], preemptions: int
) -> list[small_programs.Run]:
    make = functools.partial(small_programs.made, tasks)
    return list(bounded_search.runs(make, preemptions_max=preemptions))


def searched_whole(
    tasks: Sequence[Sequence[small_programs.Body]], preemptions: int
) -> list[small_programs.Run]:
    make = functools.partial(small_programs.made, tasks)
    return list(bounded_search.runs(make, preemptions_max=preemptions, visited=Forgetful()))


@pytest.mark.parametrize(
    ("seed", "operations", "preemptions"),
    [
        *((seed, small_programs.OPERATIONS, seed % 4) for seed in sorted({*range(30)} - LARGE)),
        *((seed, small_programs.PART_OPERATIONS, 2) for seed in PARTS),
    ],
)
def test_the_reduction_loses_no_outcome(
    seed: int, operations: Sequence[small_programs.Operation], preemptions: int
) -> None:
    tasks = small_programs.program(seed, operations)
    every = searched_whole(tasks, preemptions)
    fewer = searched(tasks, preemptions)
    assert {run.outcome for run in fewer if run.outcome is not None} == {
        run.outcome for run in every
    }
    assert len(fewer) <= len(every)


def test_no_preemption_is_a_bound_too() -> None:
    """A lost update needs one."""
    tasks = [[functools.partial(small_programs.increment, 0)]] * 2
    finals = [{run.outcome[0] for run in searched(tasks, bound) if run.outcome} for bound in (0, 1)]
    assert finals == [{2}, {1, 2}]


def test_a_timer_may_go_off_although_somebody_could_run() -> None:
    tasks = [
        [functools.partial(small_programs.await_signal, 0)],
        [functools.partial(small_programs.signal, 0)],
    ]
    seen = {run.outcome[2] for run in searched(tasks, 1) if run.outcome}  # type: ignore[index]
    assert {str(item).count("False") for item in seen} == {0, 1}


# ------------------------------------------------------------------ the scheduler


def exhausted(name: str, preemptions: int, *defects: str) -> Iterator[explored_run.ExploredRun]:
    def make(strategy: choices.Strategy) -> explored_run.ExploredRun:
        return explored_run.explore_once(world_catalogue.WORLDS[name], strategy, defects=defects)

    return bounded_search.runs(make, preemptions_max=preemptions)


@pytest.mark.parametrize("choice", [1, 2])
def test_a_broken_watch_is_resumed_or_listed_again(choice: int) -> None:
    """Faults cost no preemption: every watch breaks at every event once, in both ways."""
    broken = 0
    for run in exhausted("watch-breaks", 0):
        assert run.finding is None
        token = tokens.Token(scenario="watch-breaks", defects=(), decisions=tuple(run.decisions))
        again = search_campaign.replay(token, record=True)
        broken += any(
            step.name == "api.watch.broken" and step.fields["compacted"] == (choice == 2)
            for step in again.steps
        )
    assert broken > 3


def test_another_client_that_touches_objects_makes_conflicts_and_nothing_worse() -> None:
    conflicts = 0
    for run in exhausted("object-touched", 0):
        assert run.finding is None
        token = tokens.Token(scenario="object-touched", defects=(), decisions=tuple(run.decisions))
        again = search_campaign.replay(token, record=True)
        conflicts += sum(step.name == "pre-bind.conflict" for step in again.steps)
    assert conflicts > 3
