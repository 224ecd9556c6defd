"""The claim controller and an API server in one thread, under virtual time.

A controller that has nothing to do costs no time, so that a case takes milliseconds although it
waits for seconds.
"""

import contextlib
import random
from collections.abc import Callable, Iterator

from harness import concurrency
from harness.apiserver.registry import store as stores
from harness.apiserver.storage import watch_cache
from harness.client import apis, transports
from harness.explore.runtime import choices, scheduler, tasks
from harness.explore.worlds import api_server, world_fixtures
from harness.subject import assembling
from harness.subject.claim_control import claim_controllers

WORKERS = 2
TURNS_MAX = 1000
"""Turns of threads in one stretch: a controller that never comes to rest ends there."""


class StoreWithoutCollectors(stores.Store):
    """Neither a garbage collector nor a namespace controller runs."""

    def collect_garbage(self) -> None:
        """Leave everything."""


class Runtime(scheduler.ControlledRuntime):
    """Runs for a stretch of virtual time."""

    def __init__(self) -> None:
        super().__init__(_Undisturbed(), time_max_ns=10**18)

    def run_for(self, seconds: float, *, done: Callable[[], bool] = lambda: False) -> None:
        """Let threads run until none can within this time, until `done`, or until TURNS_MAX."""
        until_ns = self.monotonic_ns() + round(seconds * 1e9)
        for _ in range(TURNS_MAX):
            if done():
                return
            if not self._ready and (self._timers.next_ns() or until_ns + 1) > until_ns:
                self._timers.now_ns = until_ns
                return
            task = self._next()
            if task is None:
                return
            self._resume(task)

    def wake(self, task: tasks.Task) -> None:
        if not task.done:
            super().wake(task)

    def kill(self) -> None:
        """End all threads where they are; others can be started."""
        self.kill_all()
        self._ready.clear()
        self._error = None  # of locks that the threads gave back in no order


class _Undisturbed:
    def choose(self, choice: choices.Choice) -> int:
        return 0


class World:
    """A server, and a controller that can be killed and started again."""

    def __init__(self, runtime: Runtime, release: str | None, *, collects: bool) -> None:
        kind = stores.Store if collects else StoreWithoutCollectors
        self.store = kind(now=lambda: world_fixtures.NOW, stream=random.Random(1))
        self.transport = api_server.LocalServer(self.store, runtime)
        self.api = apis.Api(self.transport)
        self._runtime, self._release = runtime, release

    def start(self) -> None:
        """Start a controller; it has listed everything before anything else happens."""
        controller = claim_controllers.ClaimController(
            self.api,
            claim_controllers.ControllerOptions(workers=WORKERS),
            assembling.claim_controller_parts(release=self._release),
        )
        concurrency.spawn("start", controller.start)
        self.run_for(1.0)

    def kill(self) -> None:
        self._runtime.kill()

    def run_for(self, seconds: float, *, done: Callable[[], bool] = lambda: False) -> None:
        """Let virtual time pass, at most until `done`."""
        self._runtime.run_for(seconds, done=done)

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str
    ) -> transports.Response:
        request = transports.Request(method=method, path=path, body=body, content_type=content_type)
        return self.transport.send(request)

    def on_commit(self, listener: Callable[[watch_cache.Commit], None]) -> None:
        self.store.listen(listener)


@contextlib.contextmanager
def running(release: str | None, *, collects: bool) -> Iterator[World]:
    """A world with a controller that runs; `collects`: so do the collectors of garbage."""
    runtime = Runtime()
    with concurrency.install(runtime):
        world = World(runtime, release, collects=collects)
        world.start()
        try:
            yield world
        finally:
            world.kill()
