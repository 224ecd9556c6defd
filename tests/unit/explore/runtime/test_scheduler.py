"""The controlled runtime, on tasks that are simpler than a scheduler."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from harness import concurrency
from harness.explore.runtime import choices, scheduler, tasks
from harness.explore.search import random_strategies


def run(
    *tasks: Callable[[], None],
    stream: random.Random | None = None,
    choices_max: int = 1000,
) -> list[tasks.Task]:
    strategy: choices.Strategy = random_strategies.Replay(())
    if stream is not None:
        strategy = random_strategies.RandomWalk(stream, stay=0.5)
    runtime = scheduler.ControlledRuntime(strategy, choices_max=choices_max)
    with concurrency.install(runtime):
        for number, task in enumerate(tasks):
            concurrency.spawn(f"task-{number}", task)
        try:
            return runtime.run(explore=True)
        finally:
            runtime.kill_all()


def test_time_passes_only_when_nobody_can_run() -> None:
    seen: list[tuple[str, int]] = []

    def sleeper() -> None:
        concurrency.sleep(2.5)
        seen.append(("sleeper", concurrency.monotonic_ns()))

    def worker() -> None:
        seen.append(("worker", concurrency.monotonic_ns()))

    run(sleeper, worker)
    assert seen == [("worker", 0), ("sleeper", 2_500_000_000)]


def test_a_wait_ends_by_a_notification_or_by_its_timeout() -> None:
    answers: list[bool] = []

    def body() -> None:
        event = concurrency.Event("event")
        answers.append(event.wait(1.0))
        concurrency.spawn("setter", event.set)
        answers.append(event.wait(1.0))

    run(body)
    assert answers == [False, True]


def test_a_livelock_ends() -> None:
    def spin() -> None:
        lock = concurrency.lock("lock")
        while True:
            with lock:
                pass

    with pytest.raises(choices.TooLong, match="more than 100 choices"):
        run(spin, spin, choices_max=100)


def test_what_a_task_raises_is_raised() -> None:
    def fail() -> None:
        raise ValueError("its own mistake")

    with pytest.raises(ValueError, match="its own mistake"):
        run(fail)


def test_a_task_waits_for_the_end_of_those_it_has_spawned_and_of_no_other() -> None:
    ended: list[str] = []
    spawned: list[concurrency.Thread] = []

    def child() -> None:
        concurrency.sleep(1.0)
        ended.append("child")

    def parent() -> None:
        spawned.append(concurrency.spawn("child", child))
        spawned[0].join()
        ended.append("parent")

    def stranger() -> None:
        concurrency.sleep(0.5)
        spawned[0].join()
        ended.append("stranger")

    for seed in range(30):
        ended.clear()
        spawned.clear()
        run(parent, stranger, stream=random.Random(seed))
        assert ended.index("child") < ended.index("parent")
        assert sorted(ended) == ["child", "parent", "stranger"]
    assert "stranger" in ended


def test_a_wait_for_an_end_can_be_limited() -> None:
    ended: list[str] = []

    def child() -> None:
        concurrency.sleep(1.0)
        ended.append("child")

    def parent() -> None:
        thread = concurrency.spawn("child", child)
        thread.join(0.5)
        ended.append("parent")
        thread.join()
        ended.append("both")

    run(parent)
    assert ended == ["parent", "child", "both"]


@pytest.mark.parametrize("seed", range(20))
def test_one_task_at_a_time_has_a_baton_whatever_is_decided(seed: int) -> None:
    having = most = 0

    def carry(guard: concurrency.Condition, baton: concurrency.Baton) -> None:
        nonlocal having, most
        with baton.awaited():
            baton.take()
        having += 1
        most = max(most, having)
        concurrency.sleep(0.001)
        having -= 1
        with guard:
            baton.put_down()

    def spawn_all() -> None:
        guard = concurrency.condition("guard")
        baton = concurrency.baton(guard, "baton")
        for _ in range(3):
            concurrency.spawn("task", lambda: carry(guard, baton))

    assert run(spawn_all, stream=random.Random(seed)) == []
    assert (most, having) == (1, 0)


def take_lock_twice() -> None:
    lock: Any = concurrency.lock("the-lock")
    lock.acquire()
    lock.acquire()


def take_baton_twice() -> None:
    baton = concurrency.baton(concurrency.condition("guard"), "emitting")
    for _ in range(2):
        with baton.awaited():
            baton.take()


@pytest.mark.parametrize(
    ("task", "waits_for"),
    [(take_lock_twice, "lock the-lock"), (take_baton_twice, "baton emitting")],
)
def test_who_waits_for_good_is_named(task: Callable[[], None], waits_for: str) -> None:
    assert [waiting.waits_for for waiting in run(task)] == [waits_for]
