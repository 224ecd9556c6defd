"""A stage for real threads: each plays its part, and is held at chosen steps until the test lets it
go on.

Put in place by `concurrency.install`. Nothing here takes time for an order: a thread that has not
come where it should within the timeout fails the test.
"""

import collections
import threading
from collections.abc import Callable
from types import TracebackType

from harness import concurrency

TIMEOUT_S = 30.0
Place = tuple[str, str, int]
"""Actor, step, and how often the actor has come there."""


class Stage(concurrency.Runtime):
    """Real threads and locks; steps and the waits of conditions are where actors can be held and
    seen.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: set[Place] = set()
        self._actors: dict[str, concurrency.Thread] = {}
        self._resting: dict[str, str] = {}
        self._failures: list[BaseException] = []
        self.arrivals: collections.Counter[tuple[str, str]] = collections.Counter()
        """How often each actor has come to each step."""

    # -------------------------------------------------------------------- the test's side

    def hold(self, actor: str, step: str, *, time: int = 1) -> None:
        self._held.add((actor, step, time))

    def start(self, actor: str, action: Callable[[], object]) -> None:
        """Let the actor begin, and wait until it is held, waits for another one, or has ended."""

        def play() -> None:
            try:
                action()
            except BaseException as error:
                self._failures.append(error)
            finally:
                self._rest(actor, "ended")

        self._actors[actor] = self.spawn(actor, play)
        self._settle(actor)

    def release(self, actor: str) -> None:
        """Let the actor go on from where it is held, and wait as above."""
        with self._changed:
            assert self._resting.get(actor) == "held", f"{actor}: {self._resting.get(actor)}"
            del self._resting[actor]
            self._changed.notify_all()
        self._settle(actor)

    def finish(self) -> None:
        """Wait for the end of every actor; what one of them raised is raised here."""
        for thread in self._actors.values():
            thread.join(TIMEOUT_S)
            assert not thread.is_alive(), f"{thread.name} is stuck: {self._resting}"
        if self._failures:
            raise self._failures[0]

    def _settle(self, actor: str) -> None:
        with self._changed:
            settled = self._changed.wait_for(lambda: actor in self._resting, TIMEOUT_S)
        assert settled, f"{actor} neither ended nor came to where it is held"

    # ------------------------------------------------------------------- the actors' side

    def step(self, name: str, fields: concurrency.StepFields) -> None:
        self.arrive(name)

    def condition(self, name: str) -> concurrency.Condition:
        return _SeenCondition(self, name)

    def arrive(self, step: str) -> None:
        actor = self.current_thread_name()
        with self._changed:
            self.arrivals[actor, step] += 1
            place = (actor, step, self.arrivals[actor, step])
            if place not in self._held:
                return
            self._resting[actor] = "held"
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: actor not in self._resting, TIMEOUT_S)

    def waits(self, name: str) -> None:
        actor = self.current_thread_name()
        with self._changed:
            self.arrivals[actor, f"{name}.waiting"] += 1
        self._rest(actor, "waiting")

    def goes_on(self) -> None:
        with self._changed:
            self._resting.pop(self.current_thread_name(), None)

    def _rest(self, actor: str, how: str) -> None:
        with self._changed:
            self._resting[actor] = how
            self._changed.notify_all()


class _SeenCondition:
    """A condition that tells the stage who is about to lock it (`<name>.locking`) and who waits
    (`<name>.waiting`).
    """

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage, self._name = stage, name
        self._real = threading.Condition(threading.Lock())

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return self._real.acquire(blocking, timeout)

    def release(self) -> None:
        self._real.release()

    def __enter__(self) -> bool:
        self._stage.arrive(f"{self._name}.locking")
        return self._real.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._real.__exit__(kind, error, traceback)

    def wait(self, timeout: float | None = None) -> bool:
        self._stage.waits(self._name)
        try:
            return self._real.wait(timeout)
        finally:
            self._stage.goes_on()

    def notify(self, n: int = 1) -> None:
        self._real.notify(n)

    def notify_all(self) -> None:
        self._real.notify_all()
