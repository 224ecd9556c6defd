"""One claim on its way from in flight to allocated, while devices in use are gathered: scenes for
`frontrun`, on real threads.

`python gathering_scenes.py <scene> <cache> <gatherer>` explores a scene with those variants of the
parts and prints as JSON what came of it. A process of its own, because frontrun replaces the locks,
the clock and the trace function of the whole process.
"""

import dataclasses
import json
import sys
from collections.abc import Callable, Set
from typing import Any

import frontrun

from harness import concurrency
from harness.subject.defects import tracking_defects
from harness.subject.telemetry import klog
from harness.subject.tracking import allocated_devices, assume_caches, gathering, in_flight

DRIVER, POOL, NAME = "gpu.example.com", "node-1", "gpu-0"
DEVICE = f"{DRIVER}/{POOL}/{NAME}"
PREEMPTIONS_MAX = 1
"""In each window, one thread is stopped and another one runs past it. With one preemption a scene
is searched whole in a dozen schedules; with two, frontrun sometimes needed more than 320 for a
defect.
"""
SCHEDULES_MAX = 320
"""Never reached: what is explored is explored whole."""
SEARCHES_MAX = 3
"""On a busy machine frontrun sometimes reports a failure that it cannot replay each time, which is
none of the scene: then the search is repeated.
"""
STALL_S = 30.0
"""A schedule takes some 10 ms; a machine that is busy with other things must not make it
inconclusive.
"""

CACHES = {
    "correct": assume_caches.AssumeCache,
    "assume-cache-early-return": tracking_defects.EarlyReturnAssumeCache,
    "assume-cache-shared-drain": tracking_defects.SharedDrainAssumeCache,
}
GATHERERS = {
    "correct": gathering.Gatherer,
    "gather-not-atomic": tracking_defects.NotAtomicGatherer,
}


def _nothing(*_: object, **__: object) -> None:
    """Do nothing, in one step; frontrun would trace each bytecode of what does nothing here."""


for _module, _names in {concurrency: ("step", "reads", "writes", "adds"), klog: ("info",)}.items():
    for _name in _names:
        setattr(_module, _name, _nothing)


def claim(version: int, *, allocated: bool) -> dict[str, Any]:
    results = [{"request": "gpu", "driver": DRIVER, "pool": POOL, "device": NAME}]
    return {
        "metadata": {
            "namespace": "default",
            "name": "claim",
            "uid": "u1",
            "resourceVersion": str(version),
        },
        "status": {"allocation": {"devices": {"results": results}}} if allocated else {},
    }


PENDING, PLANNED, WRITTEN = (
    claim(1, allocated=False),
    claim(1, allocated=True),
    claim(2, allocated=True),
)


@dataclasses.dataclass
class Scene:
    """The parts that share the claim. frontrun can control a lock only when it is made during the
    exploration.
    """

    cache: assume_caches.AssumeCache
    flight: in_flight.InFlightClaims
    gatherer: gathering.Gatherer
    gathered: Set[str] | None = None

    def bind(self) -> None:
        """The binding thread: the allocation is written; assume it, then the claim is in flight no
        more.
        """
        self.cache.assume(WRITTEN)
        self.flight.remove("u1")

    def inform(self) -> None:
        """The informer's thread: the same write comes through the watch."""
        self.cache.on_update(PENDING, WRITTEN)

    def gather(self) -> None:
        """The scheduling thread: which devices are in use?"""
        self.gathered = self.gatherer.gather().devices

    def bind_then_gather(self) -> None:
        """Binding, and scheduling right after it: two threads instead of three keep the search
        small.
        """
        self.bind()
        self.gather()


# Whose window it is comes first: the search starts from this order, and so needs fewer schedules.
SCENES = {
    "assuming": [Scene.inform, Scene.bind_then_gather],
    "gathering": [Scene.gather, Scene.bind],
}


def set_up(cache: str, gatherer: str) -> Scene:
    """The claim is allocated in the scheduler's plan, in flight, and known to the cache without its
    allocation.
    """
    allocated, flight = allocated_devices.AllocatedDevices(), in_flight.InFlightClaims()
    assumed = CACHES[cache]([allocated])
    assumed.on_add(PENDING, initial=True)
    flight.add(PLANNED)
    return Scene(assumed, flight, GATHERERS[gatherer](allocated, flight))


def explore(scene: str, cache: str, gatherer: str) -> dict[str, Any]:
    """Search for an interleaving in which the device looks free, though the claim has it all the
    time.
    """
    outcomes: set[tuple[str, ...] | None] = set()

    def is_in_use(state: Scene) -> bool:
        outcomes.add(None if state.gathered is None else tuple(sorted(state.gathered)))
        return state.gathered == {DEVICE}

    results: list[Any] = []
    for _ in range(SEARCHES_MAX):
        results.append(searched(lambda: set_up(cache, gatherer), SCENES[scene], is_in_use))
        if _is_whole(results[-1]) or _is_settled(results[-1]):
            break
    result = max(results, key=lambda found: (found.reproduction_successes, _is_whole(found)))
    return {
        "holds": result.property_holds,
        "schedules_count": result.num_explored,
        "whole": _is_whole(result),
        "replays": [result.reproduction_successes, result.reproduction_attempts],
        "outcomes": sorted(outcomes, key=str),
        "explanation": result.explanation or result.inconclusive_reason,
    }


def _is_whole(result: Any) -> bool:
    """Return whether all schedules hold; a busy machine makes some of them twice."""
    return bool(result.property_holds and result.num_explored < SCHEDULES_MAX)


def _is_settled(result: Any) -> bool:
    return 0 < result.reproduction_attempts == result.reproduction_successes


def searched(
    make: Callable[[], Scene],
    workers: list[Callable[[Scene], None]],
    invariant: Callable[[Scene], bool],
) -> Any:
    return frontrun.explore(
        setup=make,
        workers=workers,
        invariant=invariant,
        # With the real clock, a thread that waits for a condition is not known to be blocked, and a
        # run can hang.
        clock="virtual",
        preemption_bound=PREEMPTIONS_MAX,
        max_executions=SCHEDULES_MAX,
        detect_io=False,
        timeout_per_run=STALL_S,
        deadlock_timeout=STALL_S,
        # Also where the harness is installed and not a checkout: frontrun passes over
        # site-packages.
        trace_packages=["harness.*"],
    )


if __name__ == "__main__":
    json.dump(explore(*sys.argv[1:]), sys.stdout)
