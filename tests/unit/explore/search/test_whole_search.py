"""The whole search: it reaches every outcome that an enumeration of all runs reaches, with fewer
runs. Shown on small random programs and on the scheduler.
"""

import functools
import hashlib
from collections.abc import Sequence

import pytest

from harness import concurrency
from harness.explore.runtime import choices, queues, scheduler
from harness.explore.search import search_campaign
from harness.explore.search.whole import depth_first
from tests.support import small_programs, swapped_turns, world_searches

pytestmark = [pytest.mark.detection, pytest.mark.slow]
RUNS_MAX = 250
SMALL = (
    *(0, 4, 12, 13, 16, 21, 25, 31, 32, 39, 41, 43, 44, 45, 47, 49, 50, 54, 57, 60, 61, 63, 64),
    *(65, 66, 71, 73, 76, 78, 79, 80, 82, 85, 88, 89, 91, 96, 100, 104, 108, 109, 111, 112, 113),
)
"""Seeds of programs with at most RUNS_MAX runs."""
PARTS = (1, 3, 9, 13, 21, 46, 58, 62, 63, 66, 79, 80, 82, 86, 87, 100, 102, 107, 111, 112, 114)
"""Seeds of such programs that use parts of what a lock guards."""
BATONS = (2, 4, 8, 12, 22, 23, 25, 28, 31, 36, 39, 41, 57, 77, 91, 117, 138, 167, 190, 206, 250)
"""Seeds of such programs in which two tasks use a baton."""
INSTRUCTIVE = (
    # A timer that expires when all wait might have expired before another task's last turn.
    (11, 208, 9, "118d2fb90163"),
    # Two tasks wait for each other's lock, while what a third could do is known.
    (151, 3534, 18, "8df720423e5f"),
    # A task that only finds that it has to wait is not one that goes on.
    (214, 708, 12, "b9f6cbede4a8"),
    # A timer that may expire early before a rest, and again after it.
    (255, 178, 3, "8559089f40de"),
    # A notification that reaches a task which its timer has woken enables nothing.
    (653, 3745, 41, "de1264d382ae"),
)
"""Seeds of larger programs, for each what a search that overlooks it loses: with the number of runs
that another search took (happens-before caching, Musuvathi and Qadeer, MSR-TR-2007-12), and the
number and a hash of the outcomes that it reached."""
Program = Sequence[Sequence[small_programs.Body]]
Outcomes = set[tuple[object, ...]]


def never_cut(run: small_programs.Run) -> bool:
    del run
    return False


def searched(tasks: Program) -> list[small_programs.Run]:
    make = functools.partial(small_programs.made, tasks)
    return list(depth_first.runs(depth_first.Tree(), make, never_cut))


def outcomes(runs: Sequence[small_programs.Run]) -> Outcomes:
    return {run.outcome for run in runs if run.outcome is not None}


@pytest.mark.parametrize(
    ("seeds", "operations"),
    [
        (SMALL, small_programs.OPERATIONS),
        (PARTS, small_programs.PART_OPERATIONS),
        (BATONS, small_programs.BATON_OPERATIONS),
    ],
    ids=["small", "parts", "batons"],
)
def test_it_reaches_what_an_enumeration_reaches(
    seeds: Sequence[int], operations: Sequence[small_programs.Operation]
) -> None:
    for seed in seeds:
        tasks = small_programs.program(seed, operations)
        every = small_programs.every_run(tasks, RUNS_MAX)
        assert every is not None, seed
        fewer = searched(tasks)
        assert outcomes(fewer) == outcomes(every), seed
        assert len(fewer) <= len(every), seed
        assert len({tuple(run.decisions) for run in fewer}) == len(fewer), seed


@pytest.mark.parametrize(("seed", "runs", "count", "digest"), INSTRUCTIVE)
def test_it_reaches_what_another_search_reached(
    seed: int, runs: int, count: int, digest: str
) -> None:
    fewer = searched(small_programs.program(seed))
    seen = sorted(map(repr, outcomes(fewer)))
    assert len(seen) == count
    assert hashlib.sha256(repr(seen).encode()).hexdigest().startswith(digest)
    assert len(fewer) < runs


def test_independent_tasks_have_one_order() -> None:
    tasks = [[functools.partial(small_programs.double, index)] * 2 for index in range(2)]
    every = small_programs.every_run(tasks, RUNS_MAX)
    assert every is not None
    assert (len(searched(tasks)), len(every) > 10) == (1, True)


def test_uses_of_different_parts_and_additions_have_one_order() -> None:
    for operation in (small_programs.change_part, small_programs.add):
        tasks = [[functools.partial(operation, index)] * 2 for index in range(2)]
        assert len(searched(tasks)) == 1
    tasks = [[functools.partial(small_programs.change_part, 0)] for _ in range(2)]
    assert len(searched(tasks)) == 2


def test_a_lost_update_and_both_deadlocks_are_reached() -> None:
    increments = [[functools.partial(small_programs.increment, 0)]] * 2
    assert {outcome[0] for outcome in outcomes(searched(increments))} == {1, 2}
    nested = [[functools.partial(small_programs.nested, index)] for index in range(2)]
    assert {outcome[-1] for outcome in outcomes(searched(nested))} == {(), ("task-0", "task-1")}


def test_readers_have_one_order_and_a_writer_may_come_between() -> None:
    def read(memory: small_programs.Memory) -> None:
        with concurrency.reading(memory.locks[0]):
            memory.note(memory.values[0])

    def write(memory: small_programs.Memory) -> None:
        with memory.locks[0]:
            memory.values[0] = 7

    assert len(searched([[read], [read]])) == 1
    seen = outcomes(searched([[read], [read], [write]]))
    assert {tuple(value for _, value in outcome[2]) for outcome in seen} == {  # type: ignore[attr-defined]
        (0, 0),
        (0, 7),
        (7, 0),
        (7, 7),
    }


def queued(strategy: choices.Strategy, observer: object) -> tuple[list[int], bool]:
    """Two tasks append to a queue from which a third one takes; return what it took."""
    runtime = scheduler.ControlledRuntime(strategy, observer=observer)  # type: ignore[arg-type]
    taken: list[int] = []
    with concurrency.install(runtime):
        queue: queues.ControlledQueue[int] = queues.ControlledQueue(runtime, "numbers")

        def take() -> None:
            taken.extend(queue.get() for _ in range(4))

        def put(first: int) -> None:
            queue.put(first)
            queue.put(first + 1)

        concurrency.spawn("taker", take)
        for first in (10, 20):
            concurrency.spawn(f"putter-{first}", functools.partial(put, first))
        try:
            runtime.run(explore=True)
            return taken, False
        except choices.GivenUp:
            return taken, True
        finally:
            runtime.kill_all()


def test_of_a_queue_only_the_order_of_appending_matters() -> None:
    runs = list(depth_first.runs(depth_first.Tree(), queued, lambda _: False))
    whole = [tuple(taken) for taken, was_given_up in runs if not was_given_up]
    assert len(set(whole)) == len(whole) == 6


# ------------------------------------------------------------------ the scheduler


hunt = functools.partial(
    world_searches.hunt, strategy=search_campaign.EXHAUSTIVE, seed=1, schedules=None
)


def test_an_unfinished_search_is_not_called_complete() -> None:
    wanted = hunt("two-claims-one-device", schedules=150)
    *_, progress = search_campaign.explore(wanted)
    assert progress.findings == []
    assert len(progress.distinct) == progress.schedules - progress.given_up > 100
    assert not progress.is_complete


@pytest.mark.parametrize("scenario", ["two-claims-one-device", "four-claims-four-devices"])
def test_turns_that_use_nothing_in_common_can_be_swapped(scenario: str) -> None:
    assert swapped_turns.compare(scenario, runs=2, swaps=6, seed=1) == 12


def test_undeclared_uses_are_noticed_when_turns_are_swapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduler.ControlledRuntime, "uses", lambda *_: None)
    with pytest.raises(AssertionError, match=r"after a swap of turns|is not possible"):
        swapped_turns.compare("two-claims-one-device", runs=10, seed=1)


@pytest.mark.parametrize(
    ("scenario", "defect"),
    [
        ("two-claims-one-device", "assume-cache-shared-drain"),
        ("two-claims-one-device", "finalizer-event-overwrites-assumed"),
        ("pod-arrives-during-binding", "gather-not-atomic"),
        ("pod-arrives-during-binding", "in-flight-removed-first"),
        ("pod-arrives-during-binding", "revision-bumped-late"),
        ("pod-arrives-during-binding", "revision-compared-early"),
    ],
)
def test_a_defect_is_found_and_can_be_replayed(scenario: str, defect: str) -> None:
    wanted = hunt(scenario, defect)
    *_, progress = search_campaign.explore(wanted)
    (finding, decisions), *_ = progress.findings
    assert search_campaign.replay(wanted.token(decisions)).finding == finding


@pytest.mark.parametrize(
    ("scenario", "sizes", "least"),
    [
        ("one-claim-per-entry", (("entries", 1),), 100),
        ("pod-arrives-during-binding", (), 100),
        ("all-or-one", (), 8),
    ],
)
def test_a_small_world_is_searched_whole(
    scenario: str, sizes: tuple[tuple[str, int], ...], least: int
) -> None:
    *_, progress = search_campaign.explore(hunt(scenario, sizes=sizes))
    assert (progress.is_complete, progress.findings) == (True, [])
    assert least < len(progress.distinct) == progress.schedules - progress.given_up
    assert progress.given_up <= progress.schedules / 10
