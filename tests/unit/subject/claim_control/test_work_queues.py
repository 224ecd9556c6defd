"""The controller's queue of keys, in virtual time."""

import itertools

import pytest

from harness import concurrency
from harness.subject.claim_control import work_queues
from tests.support import controlled_runtimes

TIMEOUT_S = 20.0


@pytest.fixture
def queue(time: controlled_runtimes.VirtualTime) -> work_queues.WorkQueue:
    return work_queues.WorkQueue("test")


def is_idle(queue: work_queues.WorkQueue) -> bool:
    return controlled_runtimes.waits_forever(queue.get)


def test_a_waiting_key_is_not_added_twice(queue: work_queues.WorkQueue) -> None:
    for key in ("a", "b", "a"):
        queue.add(key)
    assert [queue.get(), queue.get()] == ["a", "b"]
    assert is_idle(queue)


def test_a_key_that_is_worked_on_waits_until_that_is_done(queue: work_queues.WorkQueue) -> None:
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.add("a")
    assert is_idle(queue)
    queue.done("a")
    assert queue.get() == "a"
    queue.done("a")
    assert is_idle(queue)


def test_a_failed_key_comes_again_after_a_wait_that_doubles_up_to_its_limit(
    queue: work_queues.WorkQueue, time: controlled_runtimes.VirtualTime
) -> None:
    queue.add("a")
    times = []
    for _ in range(1100):  # from 1025 on, a power of two is too large for a float
        assert queue.get() == "a"
        times.append(time.now_s)
        queue.done("a", failed=True)
    waits = [later - earlier for earlier, later in itertools.pairwise(times[:14])]
    first_s, max_s = work_queues.RETRY_FIRST_S, work_queues.RETRY_MAX_S
    assert waits == pytest.approx([min(first_s * 2**index, max_s) for index in range(13)])


def test_a_success_forgets_the_failures(
    queue: work_queues.WorkQueue, time: controlled_runtimes.VirtualTime
) -> None:
    queue.add("a")
    for _ in range(3):
        queue.done(queue.get(), failed=True)
    queue.done(queue.get())
    queue.add("a")
    queue.done(queue.get(), failed=True)
    before_s = time.now_s
    queue.get()
    assert time.now_s - before_s == pytest.approx(work_queues.RETRY_FIRST_S)


def test_a_key_that_failed_twice_comes_again_once_at_the_earlier_time(
    queue: work_queues.WorkQueue, time: controlled_runtimes.VirtualTime
) -> None:
    queue.add("a")
    queue.get()
    queue.add("a")
    for _ in range(2):  # the second time without a wait, as it was added again
        queue.done("a", failed=True)
        assert queue.get() == "a"
    assert time.now_s == pytest.approx(work_queues.RETRY_FIRST_S)
    queue.done("a")
    assert is_idle(queue)


def test_close_ends_every_get_also_with_keys_left() -> None:
    queue = work_queues.WorkQueue("test")
    ended = []

    def get() -> None:
        try:
            queue.get()
        except concurrency.Closed:
            ended.append(True)

    threads = [concurrency.spawn(f"get-{index}", get) for index in range(3)]
    queue.close()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert ended == [True] * 3
    queue.add("a")
    with pytest.raises(concurrency.Closed):
        queue.get()
