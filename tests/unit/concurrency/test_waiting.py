"""Events and queues on real threads, and without waiting on virtual ones."""

import threading
from collections.abc import Callable

import pytest

from harness import concurrency

TIMEOUT_S = 30.0


def spawn_all(count: int, target: Callable[[], None]) -> list[concurrency.Thread]:
    return [concurrency.spawn(f"t{index}", target) for index in range(count)]


def join_all(threads: list[concurrency.Thread]) -> None:
    for thread in threads:
        thread.join(TIMEOUT_S)
        assert not thread.is_alive(), thread.name


def test_an_event_wakes_all_who_wait_and_stays() -> None:
    event = concurrency.Event("test")
    woken: list[bool] = []
    threads = spawn_all(4, lambda: woken.append(event.wait(TIMEOUT_S)))
    assert not event.is_set()
    event.set()
    join_all(threads)
    assert woken == [True] * 4
    assert event.is_set()
    assert event.wait()


def test_a_queue_gives_in_the_order_of_coming_until_it_is_closed_and_empty() -> None:
    queue: concurrency.Queue[int] = concurrency.Queue("test")
    for number in range(3):
        queue.put(number)
    queue.close()
    queue.put(3)
    assert len(queue) == 3
    assert [queue.get() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(concurrency.Closed):
        queue.get()


def test_every_item_is_taken_once() -> None:
    queue: concurrency.Queue[int] = concurrency.Queue("test")
    taken: list[int] = []

    def take() -> None:
        while True:
            try:
                taken.append(queue.get())
            except concurrency.Closed:
                return

    def feed() -> None:
        for number in range(500):
            queue.put(number)

    takers = spawn_all(3, take)
    join_all(spawn_all(2, feed))
    queue.close()
    join_all(takers)
    assert sorted(taken) == sorted([*range(500), *range(500)])


def test_a_thread_has_its_name_and_does_not_keep_the_process() -> None:
    seen: list[tuple[str, str, bool]] = []

    def look() -> None:
        thread = threading.current_thread()
        seen.append((concurrency.current_thread_name(), thread.name, thread.daemon))

    thread = concurrency.spawn("worker-7", look)
    join_all([thread])
    assert seen == [("worker-7", "worker-7", True)]
    assert thread.name == "worker-7"
