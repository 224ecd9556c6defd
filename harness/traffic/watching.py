"""One watch per worker process, which wakes the users that wait for pods; nothing is polled."""

import sys
from typing import Any

import gevent.event

from harness.client import apis, informers

Object = dict[str, Any]
SYNC_TIMEOUT_S = 30.0
"""Time limit for the initial list, in seconds."""


class PodWatch:
    """Follows the pods of the run; an event handler of their informer."""

    def __init__(self, api: apis.Api, *, namespace: str) -> None:
        self._namespace = namespace
        self._phases: dict[str, str] = {}
        self._waiting: dict[tuple[str, str], gevent.event.Event] = {}
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
        """Wake all waiting users; later waits return at once."""
        self._stopped = True
        for event in [self._enough, *self._waiting.values()]:
            event.set()

    def wait_running(self, name: str, *, timeout_s: float) -> bool:
        """Wait until the pod is Running; return False on a timeout or if the traffic is stopped."""
        return self._wait(name, "Running", timeout_s)

    def wait_gone(self, name: str, *, timeout_s: float) -> bool:
        """Wait until the pod is gone; return False on a timeout or if the traffic is stopped."""
        return self._wait(name, "", timeout_s)

    def wait_running_count(self, count: int, *, timeout_s: float) -> bool:
        """Wait until this many pods are Running at once; return False as `wait_running` does."""
        self._wanted_count = count
        if not self._are_enough() and not self._stopped:
            self._enough.wait(timeout_s)
        return self._are_enough()

    def _are_enough(self) -> bool:
        running = sum(phase == "Running" for phase in self._phases.values())
        return running >= self._wanted_count

    def _wait(self, name: str, phase: str, timeout_s: float) -> bool:
        if self._phases.get(name, "") == phase:
            return True
        if self._stopped:
            return False
        event = self._waiting[name, phase] = gevent.event.Event()
        try:
            event.wait(timeout_s)
        finally:
            del self._waiting[name, phase]
        return self._phases.get(name, "") == phase

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Note the phase of a new pod."""
        del initial
        self._note(obj["metadata"]["name"], obj.get("status", {}).get("phase", "Pending"))

    def on_update(self, old: Object, new: Object) -> None:
        """Note the phase of a changed pod."""
        del old
        self._note(new["metadata"]["name"], new.get("status", {}).get("phase", "Pending"))

    def on_delete(self, last: Object) -> None:
        """Note that a pod is gone."""
        name = last["metadata"]["name"]
        self._phases.pop(name, None)
        self._wake(name, "")

    def _note(self, name: str, phase: str) -> None:
        self._phases[name] = phase
        self._wake(name, phase)
        if phase == "Running" and not self._enough.is_set() and self._are_enough():
            self._enough.set()

    def _wake(self, name: str, phase: str) -> None:
        event = self._waiting.get((name, phase))
        if event is not None:
            event.set()
