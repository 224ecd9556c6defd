"""Small random programs whose interleavings can be enumerated: locks, conditions, lost updates,
deadlocks, timers, queues.
"""

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence

from harness import concurrency
from harness.explore.runtime import choices, observing, scheduler
from harness.explore.search import random_strategies

Body = Callable[["Memory"], None]


class Memory:
    """State that the tasks of a program share, and their observations."""

    def __init__(self) -> None:
        self.locks = [concurrency.lock(f"lock-{index}") for index in range(2)]
        self.changed = concurrency.condition("changed")
        self.baton = concurrency.baton(self.changed, "baton")
        self.values = [0, 0]
        self.signals = 0
        self.flags = [0, 0]
        self.total = self.inner = 0
        self.own: dict[str, list[int]] = {}

    def note(self, value: int) -> None:
        """For the eyes of one task only: no other task can tell when it happens."""
        self.own.setdefault(concurrency.current_thread_name(), []).append(value)

    def _notes(self) -> tuple[object, ...]:
        return tuple(sorted((name, *seen) for name, seen in self.own.items()))

    def outcome(self) -> tuple[object, ...]:
        return (*self.values, self._notes(), self.total, self.inner, *self.flags)


Operation = Callable[[int, Memory], None]


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


OPERATIONS = (increment, double, nested, signal, await_signal)


def change_part(index: int, memory: Memory) -> None:
    """Does not commute with another change of this part."""
    guard = memory.locks[0]
    with concurrency.in_parts(guard):
        concurrency.writes(guard, "value", str(index))
        memory.note(memory.values[index])
        memory.values[index] = 2 * memory.values[index] + 1


def read_part(index: int, memory: Memory) -> None:
    guard = memory.locks[0]
    with concurrency.in_parts(guard):
        concurrency.reads(guard, "value", str(index))
        memory.note(memory.values[index])


def glance_at_part(index: int, memory: Memory) -> None:
    """In the middle of what its task does with the other lock."""
    with memory.locks[1]:
        concurrency.reads(memory.locks[0], "value", str(index))
        memory.note(memory.values[index])


def add(index: int, memory: Memory) -> None:
    """Commutes with another addition."""
    guard = memory.locks[0]
    with concurrency.in_parts(guard):
        concurrency.adds(guard, "total")
        memory.total += 1 + index


def read_total(index: int, memory: Memory) -> None:
    """One task in two changes it, too."""
    guard = memory.locks[0]
    with concurrency.in_parts(guard):
        concurrency.reads(guard, "total")
        memory.note(memory.total)
        if index:
            concurrency.adds(guard, "total")
            memory.total += 10


def change_whole(index: int, memory: Memory) -> None:
    """Uses every part."""
    with memory.locks[0]:
        memory.values.reverse()
        memory.total *= 1 + index


def read_whole(index: int, memory: Memory) -> None:
    with concurrency.reading(memory.locks[0]):
        memory.note(memory.values[index] + memory.total)


def part_then_lock(index: int, memory: Memory) -> None:
    """Another task may want the lock of the part meanwhile."""
    guard = memory.locks[0]
    with concurrency.in_parts(guard):
        concurrency.writes(guard, "value", str(index))
        memory.values[index] += 1
        with memory.locks[1]:
            memory.inner += 1
            memory.note(memory.inner)
        memory.note(memory.values[index])


def lock_then_part(index: int, memory: Memory) -> None:
    """The other order of the two locks, so that a deadlock is possible."""
    with memory.locks[1]:
        memory.inner *= 2
        change_part(index, memory)


def signal_part(index: int, memory: Memory) -> None:
    with concurrency.in_parts(memory.changed):
        concurrency.writes(memory.changed, "signal", str(index))
        memory.flags[index] += 1
        memory.changed.notify()


def await_part(index: int, memory: Memory) -> None:
    """Waits for a moment, then goes on anyway; or forever."""
    with concurrency.in_parts(memory.changed):
        memory.note(memory.changed.wait(None if index else 0.1))
        concurrency.reads(memory.changed, "signal", str(index))
        memory.note(memory.flags[index])


PART_OPERATIONS = (
    *(change_part, read_part, glance_at_part, add, read_total, change_whole, read_whole),
    *(part_then_lock, lock_then_part, signal_part, await_part),
)


def carry_baton(index: int, memory: Memory) -> None:
    """One task at a time; what it does meanwhile concerns others, too."""
    with memory.baton.awaited():
        concurrency.reads(memory.changed, "signals")
        memory.note(memory.signals)
        memory.baton.take()
    increment(index, memory)
    with concurrency.in_parts(memory.changed):
        concurrency.writes(memory.changed, "signals")
        memory.signals = 2 * memory.signals + index + 1
        memory.baton.put_down()


def await_baton(index: int, memory: Memory) -> None:
    """Goes on without it."""
    with memory.baton.awaited():
        concurrency.reads(memory.changed, "signals")
        memory.note(memory.signals)


def try_baton(index: int, memory: Memory) -> None:
    """Does something else where another task has it."""
    with memory.changed:
        is_free = not memory.baton.is_taken
        if is_free:
            memory.baton.take()
    memory.note(is_free)
    increment(index, memory)
    if is_free:
        with memory.changed:
            memory.baton.put_down()


BATON_OPERATIONS = (carry_baton, await_baton, try_baton, signal, double)


@dataclasses.dataclass(frozen=True)
class Run:
    decisions: list[int]
    outcome: tuple[object, ...] | None


def program(seed: int, operations: Sequence[Operation] = OPERATIONS) -> list[list[Body]]:
    """Two or three tasks of one to three operations each."""
    stream = random.Random(seed)
    return [
        [
            functools.partial(stream.choice(operations), stream.randrange(2))
            for _ in range(stream.randint(1, 3))
        ]
        for _ in range(stream.choice((2, 2, 3)))
    ]


def made(
    tasks: Sequence[Sequence[Body]],
    strategy: choices.Strategy,
    observer: observing.Observer | None = None,
) -> Run:
    runtime = scheduler.ControlledRuntime(strategy, observer=observer)
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
    return Run(runtime.decisions, outcome)


def every_run(tasks: Sequence[Sequence[Body]], runs_max: int) -> list[Run] | None:
    """Make every run of a program, without any reduction; None if there are more than allowed."""
    runs: list[Run] = []
    decisions: list[int] | None = []
    while decisions is not None and len(runs) < runs_max:
        replay = _Replay(decisions)
        run = made(tasks, replay)
        runs.append(run)
        decisions = _next(run.decisions, replay.options)
    return runs if decisions is None else None


class _Replay(random_strategies.Replay):
    """Knows how many options there were."""

    def __init__(self, decisions: Sequence[int]) -> None:
        super().__init__(decisions)
        self.options: list[int] = []

    def choose(self, choice: choices.Choice) -> int:
        self.options.append(choice.options)
        return super().choose(choice)


def _next(decisions: Sequence[int], options: Sequence[int]) -> list[int] | None:
    """Return the decisions of the next run, depth first; None: this was the last one."""
    for place in reversed(range(len(decisions))):
        if decisions[place] + 1 < options[place]:
            return [*decisions[:place], decisions[place] + 1]
    return None
