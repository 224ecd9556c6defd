"""Named steps, their listeners, seeded pauses, and runtimes put in the place of the real one."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from harness import concurrency

Taken = list[tuple[str, dict[str, Any]]]


@pytest.fixture(autouse=True)
def nobody_listens_afterwards() -> Iterator[None]:
    yield
    concurrency.listen(None)


class Tracing(concurrency.Runtime):
    """A runtime that writes down what it is asked for, and lets virtual time pass."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.slept_s: list[float] = []
        self.now_ns = 0

    def condition(self, name: str) -> concurrency.Condition:
        self.asked.append(f"condition {name}")
        return super().condition(name)

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_ns += round(seconds * 1e9)

    def monotonic_ns(self) -> int:
        return self.now_ns

    def step(self, name: str, fields: concurrency.StepFields) -> None:
        self.asked.append(f"step {name} {dict(fields)}")


def recording(taken: Taken) -> concurrency.StepListener:
    return lambda name, fields: taken.append((name, dict(fields)))


def test_a_listener_hears_every_step_until_another_one_takes_its_place() -> None:
    first: Taken = []
    second: Taken = []
    concurrency.listen(recording(first))
    concurrency.step("a.done", claim="c", count=1)
    concurrency.listen(recording(second))
    concurrency.step("b.done")
    concurrency.listen(None)
    concurrency.step("c.done")
    assert first == [("a.done", {"claim": "c", "count": 1})]
    assert second == [("b.done", {})]


def pauses(seed: int, *, probability: float, count: int = 200) -> list[float]:
    runtime = Tracing()
    pause = concurrency.pausing(
        stream=random.Random(seed), probability=probability, pause_s_max=0.005
    )
    with concurrency.install(runtime):
        for index in range(count):
            pause(f"step-{index}", {})
    return runtime.slept_s


def test_a_seed_gives_the_same_pauses_whatever_the_steps_are() -> None:
    assert pauses(7, probability=0.5) == pauses(7, probability=0.5)
    assert pauses(7, probability=0.5) != pauses(8, probability=0.5)


def test_pauses_come_as_often_and_are_as_long_as_asked() -> None:
    found = pauses(7, probability=0.25, count=2000)
    assert 400 < len(found) < 600
    assert all(0 <= length <= 0.005 for length in found)
    assert max(found) > 0.004
    assert pauses(7, probability=0.0) == []
    assert len(pauses(7, probability=1.0)) == 200


def test_events_and_queues_wait_by_the_installed_runtime() -> None:
    runtime = Tracing()
    with concurrency.install(runtime):
        concurrency.Event("e")
        concurrency.Queue[int]("q")
    assert runtime.asked == ["condition e", "condition q"]


def test_what_was_installed_before_comes_back_also_after_an_error() -> None:
    taken: Taken = []
    outer, inner = Tracing(), Tracing()
    concurrency.listen(recording(taken))
    with concurrency.install(outer):
        with pytest.raises(RuntimeError), concurrency.install(inner):
            raise RuntimeError
        concurrency.step("outer.done")
    concurrency.step("real.done")
    assert (outer.asked, inner.asked) == (["step outer.done {}"], [])
    assert taken == [("real.done", {})]
    assert concurrency.monotonic_ns() > 0
