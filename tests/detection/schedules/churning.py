"""Random churn over the parts that a double allocation comes from, and the invariant that they
keep.

The invariant: a device that is planned or allocated without a break from before a gather until
after it is in what was gathered. Each binder has a device and a claim of its own and plans, binds
and frees it again and again; one informer delivers what the server says, with seeded pauses;
gatherers look all the time.
"""

import random
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from harness import concurrency, seeds
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts
from harness.subject.scheduling import schedulers
from tests.support import api_objects, local_servers, plugin_world

Object = dict[str, Any]
BINDERS = 4
GATHERERS = 2
SWITCH_INTERVAL_S = 1e-5
PAUSE_PROBABILITY = 0.1
PAUSE_S_MAX = 0.0005
JOIN_TIMEOUT_S = 60.0


class Churn:
    """One round."""

    def __init__(
        self,
        parts: schedulers.SchedulerParts,
        *,
        seed: int,
        cycles: int,
        pause_probability: float = PAUSE_PROBABILITY,
    ) -> None:
        self._cycles, self._pause_probability = cycles, pause_probability
        self._seeds = seeds.Seeds(seed)
        server = local_servers.LocalServer(seed)
        self._devices = [f"d{index}" for index in range(BINDERS)]
        self._world = plugin_world.World(server, parts, self._devices)
        self._deliveries: concurrency.Queue[Object] = concurrency.Queue("deliveries")
        self._pods = [self._world.pod(f"p{index}", f"c{index}") for index in range(BINDERS)]
        for index in range(BINDERS):
            self._world.claim(f"c{index}")
        server.store.listen(self._on_commit)
        self._held: dict[str, int | None] = dict.fromkeys(map(api_objects.device_id, self._devices))
        """Since which plan each device has been planned or allocated; None while it is free."""
        self._failures: list[BaseException] = []
        self._over = threading.Event()
        self.gathers = 0
        self.missed: list[str] = []
        """Devices that a gather should have seen, and did not."""

    def run(self) -> "Churn":
        """Until every binder has done its cycles, or a gather has missed a device."""
        with _racing(self._seeds.stream("pauses"), self._pause_probability):
            informer = concurrency.spawn("informer", lambda: self._guard(self._deliver))
            binders = [self._spawn("binder", self._bind, index) for index in range(BINDERS)]
            gatherers = [self._spawn("gatherer", self._gather, index) for index in range(GATHERERS)]
            _join(binders)
            self._over.set()
            self._deliveries.close()
            _join([*gatherers, informer])
        if self._failures:
            raise self._failures[0]
        return self

    # ------------------------------------------------------------------------ the threads

    def _bind(self, index: int) -> None:
        stream = self._seeds.stream("binder", index)
        claim = self._world.stored(f"c{index}")
        allocation = api_objects.allocation(self._devices[index])
        device = api_objects.device_id(self._devices[index])
        for number in range(self._cycles):
            if self.missed or self._failures:
                return
            attempt = scheduling_attempts.Attempt(self._pods[index], [claim], to_allocate=[0])
            self._world.plugin.reserve(attempt, api_objects.node(), [allocation])
            self._held[device] = number
            self._world.plugin.pre_bind(attempt)
            concurrency.sleep(stream.random() * PAUSE_S_MAX)
            self._held[device] = None
            freed = claims.with_status(attempt.claims[0], allocation=None, reservedFor=None)
            claim = self._world.api.update_status(apis.CLAIMS, freed)

    def _gather(self, index: int) -> None:
        del index
        while not self._over.is_set() and not self.missed:
            before = dict(self._held)
            gathered = self._world.gatherer.gather().devices
            after = dict(self._held)
            self.gathers += 1
            self.missed += [
                device
                for device, since in before.items()
                if since is not None and after[device] == since and device not in gathered
            ]

    def _deliver(self) -> None:
        while True:
            try:
                claim = self._deliveries.get()
            except concurrency.Closed:
                return
            self._world.cache.on_update({}, claim)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        self._deliveries.put(commit.object.document())

    # ---------------------------------------------------------------------------- parts

    def _spawn(self, name: str, target: Any, index: int) -> concurrency.Thread:
        return concurrency.spawn(f"{name}-{index}", lambda: self._guard(lambda: target(index)))

    def _guard(self, action: Any) -> None:
        try:
            action()
        except BaseException as error:
            self._failures.append(error)


def _join(threads: Sequence[concurrency.Thread]) -> None:
    for thread in threads:
        thread.join(JOIN_TIMEOUT_S)
        assert not thread.is_alive(), f"{thread.name} is stuck"


@contextmanager
def _racing(stream: random.Random, probability: float) -> Iterator[None]:
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    concurrency.listen(
        concurrency.pausing(stream=stream, probability=probability, pause_s_max=PAUSE_S_MAX)
    )
    try:
        yield
    finally:
        concurrency.listen(None)
        sys.setswitchinterval(interval_s)
