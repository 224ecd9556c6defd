"""One watch per worker process, which wakes the users that wait for pods; nothing is polled."""

import dataclasses
import sys
from collections.abc import Callable
from typing import TypeAlias

import gevent.event

from harness import clocks
from harness.client import apis, informers
from harness.model.objects import Object

SYNC_TIMEOUT_S = 30.0
"""Time limit for the initial list, in seconds."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeenPod:
    """The state of a pod, as far as users need it."""

    phase: str
    node: str
    """Empty: it is not bound."""
    claims: tuple[str, ...]
    """Names of its generated claims that are recorded."""


Condition: TypeAlias = Callable[[SeenPod | None], bool]
"""Returns whether a pod has reached a state; None: the pod is gone, or is not known yet."""


class PodWatch(informers.StateHandler):
    """Follows the pods of the run; an event handler of their informer."""

    def __init__(self, api: apis.Api, *, namespace: str) -> None:
        self._namespace = namespace
        self._pods: dict[str, SeenPod] = {}
        self._changes: dict[str, gevent.event.Event] = {}
        """Set at the next change of a pod that users wait for."""
        self._wanted_count = sys.maxsize
        """The number of Running pods that the users wait for."""
        self._enough = gevent.event.Event()
        self._informer = informers.Informer(
            api, apis.PODS, name="traffic-pods", namespace=namespace, handlers=[self]
        )
        self._stopped = False

    def start(self) -> None:
        """Start the watch.

        Raises ClusterError if the API server does not answer.
        """
        self._informer.start()
        self._informer.wait_synced(timeout_s=SYNC_TIMEOUT_S)

    def stop(self) -> None:
        self._stopped = True
        for event in [self._enough, *self._changes.values()]:
            event.set()

    def get(self, name: str) -> SeenPod | None:
        return self._pods.get(name)

    def wait(self, name: str, condition: Condition, *, timeout_s: float) -> bool:
        """Wait for a condition; return False on a timeout or if the traffic is stopped."""
        deadline_ns = clocks.monotonic_ns() + int(timeout_s * 1e9)
        while not (is_true := condition(self._pods.get(name))) and not self._stopped:
            left_s = (deadline_ns - clocks.monotonic_ns()) / 1e9
            if left_s <= 0:
                break
            self._changes.setdefault(name, gevent.event.Event()).wait(left_s)
        return is_true

    def wait_running_count(self, count: int, *, timeout_s: float) -> bool:
        """Wait until this many pods are Running at once; return False as `wait` does."""
        self._wanted_count = count
        if not self._are_enough() and not self._stopped:
            self._enough.wait(timeout_s)
        return self._are_enough()

    def _are_enough(self) -> bool:
        return sum(map(is_in("Running"), self._pods.values())) >= self._wanted_count

    def on_state(self, obj: Object) -> None:
        name, seen = obj["metadata"]["name"], _seen(obj)
        self._pods[name] = seen
        self._wake(name)
        if seen.phase == "Running" and not self._enough.is_set() and self._are_enough():
            self._enough.set()

    def on_delete(self, last: Object) -> None:
        name = last["metadata"]["name"]
        self._pods.pop(name, None)
        self._wake(name)

    def _wake(self, name: str) -> None:
        event = self._changes.pop(name, None)
        if event is not None:
            event.set()


def is_in(*phases: str) -> Condition:
    """Return the condition that a pod is in one of these phases."""
    return lambda pod: pod is not None and pod.phase in phases


def _seen(pod: Object) -> SeenPod:
    status = pod.get("status", {})
    recorded = status.get("resourceClaimStatuses") or ()
    names = (item.get("resourceClaimName") for item in recorded)
    return SeenPod(
        phase=status.get("phase", "Pending"),
        node=pod.get("spec", {}).get("nodeName", ""),
        claims=tuple(name for name in names if name),
    )
