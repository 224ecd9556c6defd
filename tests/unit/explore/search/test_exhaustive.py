"""The bounded search: nothing within the bound is lost, however much is left out. Shown on small
random programs and on the scheduler.
"""

import dataclasses
import functools
import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from harness import concurrency
from harness.explore.runtime import choices, scheduler
from harness.explore.search import exhaustive, explored_run, search_campaign, tokens
from harness.explore.worlds import world_catalogue

pytestmark = pytest.mark.detection
SMALLEST = "two-claims-one-device"
Body = Callable[["Memory"], None]


class Memory:
    """State that the tasks of a program share, and their observations."""

    def __init__(self) -> None:
        self.locks = [concurrency.lock(f"lock-{index}") for index in range(2)]
        self.changed = concurrency.condition("changed")
        self.values = [0, 0]
        self.signals = 0
        self.own: dict[str, list[int]] = {}

    def note(self, value: int) -> None:
        """For the eyes of one task only: no other task can tell when it happens."""
        self.own.setdefault(concurrency.current_thread_name(), []).append(value)

    def outcome(self) -> tuple[object, ...]:
        return (*self.values, tuple(sorted((name, *seen) for name, seen in self.own.items())))


def increment(index: int, memory: Memory) -> None:
    """Not atomic."""
    with memory.locks[index]:
        read = memory.values[index]
    memory.note(read)
    with memory.locks[index]:
        memory.values[index] = read + 1


def double(index: int, memory: Memory) -> None:
    """Does not commute with an increment."""
    with memory.locks[index]:
        memory.values[index] *= 2


def nested(index: int, memory: Memory) -> None:
    """Two locks at once; in both orders, so that a deadlock is possible."""
    with memory.locks[index], memory.locks[1 - index]:
        memory.values[index] += memory.values[1 - index]


def signal(weight: int, memory: Memory) -> None:
    """Wakes one who waits."""
    with memory.changed:
        memory.signals = 2 * memory.signals + weight
        memory.changed.notify()


def await_signal(tenths: int, memory: Memory) -> None:
    """Waits for a moment, then goes on anyway."""
    with memory.changed:
        memory.note(memory.changed.wait((1 + tenths) / 10))
        memory.note(memory.signals)


LARGE = {19, 35, 95, 135}
"""Seeds of programs whose search without any reduction takes seconds."""
OPERATIONS = (increment, double, nested, signal, await_signal)


@dataclasses.dataclass(frozen=True)
class Run:
    decisions: list[int]
    options: list[int]
    free: list[int]
    outcome: tuple[object, ...] | None


def program(seed: int) -> list[list[Body]]:
    """Two or three tasks of one to three operations each."""
    stream = random.Random(seed)
    return [
        [
            functools.partial(stream.choice(OPERATIONS), stream.randrange(2))
            for _ in range(stream.randint(1, 3))
        ]
        for _ in range(stream.choice((2, 2, 3)))
    ]


def made(tasks: Sequence[Sequence[Body]], strategy: choices.Strategy) -> Run:
    runtime = scheduler.ControlledRuntime(strategy)
    with concurrency.install(runtime):
        memory = Memory()

        def body(operations: Sequence[Body]) -> None:
            for operation in operations:
                operation(memory)

        for number, operations in enumerate(tasks):
            concurrency.spawn(f"task-{number}", functools.partial(body, operations))
        outcome: tuple[object, ...] | None = None
        try:
            waiting = runtime.run(explore=True)
            outcome = (*memory.outcome(), tuple(task.name for task in waiting))
        except choices.GivenUp:
            pass
        finally:
            runtime.kill_all()
    return Run(runtime.tape.decisions, runtime.tape.options, runtime.tape.free, outcome)


class Forgetful(dict[int, int]):
    """Knows no state again."""

    def get(self, key: int, default: int = -1) -> int:  # type: ignore[override]
        del key
        return default


def searched(tasks: Sequence[Sequence[Body]], preemptions: int) -> list[Run]:
    make = functools.partial(made, tasks)
    return list(exhaustive.runs(make, preemptions_max=preemptions))


def searched_whole(
    monkeypatch: pytest.MonkeyPatch, tasks: Sequence[Sequence[Body]], preemptions: int
) -> list[Run]:
    """Without any reduction."""
    make = functools.partial(made, tasks)
    with monkeypatch.context() as patching:
        patching.setattr(scheduler.ControlledRuntime, "is_redundant", lambda *_: False)
        return list(exhaustive.runs(make, preemptions_max=preemptions, visited=Forgetful()))


@pytest.mark.parametrize("seed", sorted({*range(150)} - LARGE))
def test_the_reduction_loses_no_outcome(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, preemptions = program(seed), seed % 4
    every = searched_whole(monkeypatch, tasks, preemptions)
    fewer = searched(tasks, preemptions)
    assert {run.outcome for run in fewer if run.outcome is not None} == {
        run.outcome for run in every
    }
    assert len(fewer) <= len(every)


def test_the_reduction_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [[functools.partial(double, index % 2)] * 3 for index in range(3)]
    assert len(searched_whole(monkeypatch, tasks, 3)) > 4 * len(searched(tasks, 3))


def test_no_preemption_is_a_bound_too() -> None:
    """A lost update needs one."""
    tasks = [[functools.partial(increment, 0)]] * 2
    finals = [{run.outcome[0] for run in searched(tasks, bound) if run.outcome} for bound in (0, 1)]
    assert finals == [{2}, {1, 2}]


def test_a_timer_may_go_off_although_somebody_could_run() -> None:
    tasks = [[functools.partial(await_signal, 0)], [functools.partial(signal, 0)]]
    seen = {run.outcome[2] for run in searched(tasks, 1) if run.outcome}  # type: ignore[index]
    assert {str(item).count("False") for item in seen} == {0, 1}


# ------------------------------------------------------------------ the scheduler


def exhausted(name: str, preemptions: int, *defects: str) -> Iterator[explored_run.ExploredRun]:
    def make(strategy: choices.Strategy) -> explored_run.ExploredRun:
        return explored_run.explore_once(world_catalogue.WORLDS[name], strategy, defects=defects)

    return exhaustive.runs(make, preemptions_max=preemptions)


def test_no_run_is_made_twice_and_none_of_the_correct_scheduler_fails() -> None:
    runs = list(exhausted(SMALLEST, 1))
    assert len({tuple(run.decisions) for run in runs}) == len(runs) > 50
    assert [run.finding for run in runs if run.finding] == []


@pytest.mark.parametrize(
    ("scenario", "defect"),
    [
        (SMALLEST, "gather-not-atomic"),
        ("pod-arrives-during-binding", "assume-cache-shared-drain"),
    ],
)
def test_two_preemptions_suffice_for_the_upstream_races(scenario: str, defect: str) -> None:
    found = next(run for run in exhausted(scenario, 2, defect) if run.finding)
    token = tokens.Token(scenario=scenario, defects=(defect,), decisions=tuple(found.decisions))
    assert search_campaign.replay(token).finding == found.finding


@pytest.mark.parametrize("choice", [1, 2])
def test_a_broken_watch_is_resumed_or_listed_again(choice: int) -> None:
    """Faults cost no preemption: every watch breaks at every event once, in both ways."""
    broken = 0
    for run in exhausted("watch-breaks", 0):
        assert run.finding is None
        token = tokens.Token(scenario="watch-breaks", defects=(), decisions=tuple(run.decisions))
        again = search_campaign.replay(token, record=True)
        broken += any(
            moment.name == "api.watch.broken" and moment.fields["compacted"] == (choice == 2)
            for moment in again.moments
        )
    assert broken > 3


def test_another_client_that_touches_objects_makes_conflicts_and_nothing_worse() -> None:
    conflicts = 0
    for run in exhausted("object-touched", 0):
        assert run.finding is None
        token = tokens.Token(scenario="object-touched", defects=(), decisions=tuple(run.decisions))
        again = search_campaign.replay(token, record=True)
        conflicts += sum(moment.name == "pre-bind.conflict" for moment in again.moments)
    assert conflicts > 3
