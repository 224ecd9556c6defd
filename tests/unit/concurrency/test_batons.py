"""Batons on real threads."""

import threading

import pytest

from harness import concurrency

TIMEOUT_S = 30.0


def test_one_thread_at_a_time_has_it() -> None:
    guard = concurrency.condition("guard")
    baton = concurrency.baton(guard, "baton")
    having, most = 0, 0

    def carry() -> None:
        nonlocal having, most
        for _ in range(200):
            with baton.awaited():
                baton.take()
                having += 1
                most = max(most, having)
            with guard:
                having -= 1
                baton.put_down()

    threads = [threading.Thread(target=carry) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert (most, having, baton.is_taken) == (1, 0, False)


def test_all_who_await_it_go_on_although_no_one_takes_it() -> None:
    guard = concurrency.condition("guard")
    baton = concurrency.baton(guard, "baton")
    with baton.awaited():
        baton.take()
    ended = threading.Barrier(4)

    def look() -> None:
        with baton.awaited():
            pass
        ended.wait(TIMEOUT_S)

    for _ in range(3):
        threading.Thread(target=look, daemon=True).start()
    with guard:
        baton.put_down()
    ended.wait(TIMEOUT_S)


def test_it_is_not_taken_twice() -> None:
    baton = concurrency.baton(concurrency.condition("guard"), "baton")
    with baton.awaited():
        baton.take()
        with pytest.raises(RuntimeError, match="expected a baton that no thread has"):
            baton.take()
