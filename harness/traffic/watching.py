"""One watch for all users of a worker: whoever waits for a pod is woken when the watch says so. No polling."""

from typing import Any

import gevent.event

from harness.client import apis, informers

Object = dict[str, Any]
SYNC_TIMEOUT_S = 30.0


class PodWatch:
    """Follows the pods of the run."""

    def __init__(self, api: apis.Api, *, namespace: str) -> None:
        self._namespace = namespace
        self._phases: dict[str, str] = {}
        self._waiting: dict[tuple[str, str], gevent.event.Event] = {}
        self._informer = informers.Informer(
            api, apis.PODS, name="traffic-pods", namespace=namespace, handlers=[self]
        )
        self._stopped = False

    def start(self) -> None:
        """Begin to follow; ClusterError when the API server does not answer."""
        self._informer.start()
        self._informer.wait_synced(timeout_s=SYNC_TIMEOUT_S)

    def stop(self) -> None:
        """Let everybody go who waits."""
        self._stopped = True
        for event in list(self._waiting.values()):
            event.set()

    def wait_running(self, name: str, *, timeout_s: float) -> bool:
        """Wait until the pod is Running; False when the time was up, or the traffic was stopped."""
        return self._wait(name, "Running", timeout_s)

    def wait_gone(self, name: str, *, timeout_s: float) -> bool:
        """Wait until there is no such pod."""
        return self._wait(name, "", timeout_s)

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
        """A pod was created."""
        del initial
        self._note(obj["metadata"]["name"], obj.get("status", {}).get("phase", "Pending"))

    def on_update(self, old: Object, new: Object) -> None:
        """A pod was changed."""
        del old
        self._note(new["metadata"]["name"], new.get("status", {}).get("phase", "Pending"))

    def on_delete(self, last: Object) -> None:
        """A pod is gone."""
        name = last["metadata"]["name"]
        self._phases.pop(name, None)
        self._wake(name, "")

    def _note(self, name: str, phase: str) -> None:
        self._phases[name] = phase
        self._wake(name, phase)

    def _wake(self, name: str, phase: str) -> None:
        event = self._waiting.get((name, phase))
        if event is not None:
            event.set()
