"""When a run has done its work: counted from what the API server says, not from what anybody claims.

Nothing here is a verdict: a run that is ended because something was seen is judged from its directory like any other.
"""

from typing import Any

from harness import concurrency
from harness.checks import live_spotter
from harness.client import apis, informers
from harness.scenario import specs


def pods_for_load(scenario: specs.Scenario) -> int:
    """After so many pods have run, `load` is reached whatever devices they got: the claims that they shared were all allocated."""
    load, pools = scenario.load, scenario.pools
    pods_per_claim = getattr(scenario.traffic, "pods_per_claim", 1)
    claims = max(load.allocations_min, load.reuse_min + pools.nodes * pools.devices_per_node)
    return max(load.pods_running_min, claims * pods_per_claim)


class PodCounter:
    """Counts the pods of the run's namespace, live: how many there are, how many are Running, how many ever were."""

    def __init__(self, api: apis.Api, *, namespace: str) -> None:
        self._guard = concurrency.lock("pod-counter")
        self._running: set[str] = set()
        self._present: set[str] = set()
        self._ran = 0
        self._informer = informers.Informer(
            api, apis.PODS, namespace=namespace, name="pod-counter", handlers=[self]
        )

    def start(self) -> None:
        """Begin to count."""
        self._informer.start()

    def stop(self) -> None:
        """Count no more."""
        self._informer.stop()

    @property
    def running(self) -> int:
        """Pods that are Running now."""
        return len(self._running)

    @property
    def ran(self) -> int:
        """Pods that were seen Running so far."""
        return self._ran

    @property
    def present(self) -> int:
        """Pods that exist now."""
        return len(self._present)

    def on_add(self, obj: dict[str, Any], *, initial: bool) -> None:
        """A pod was created (or was there)."""
        del initial
        self._note(obj)

    def on_update(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        """A pod was changed."""
        del old
        self._note(new)

    def on_delete(self, last: dict[str, Any]) -> None:
        """A pod is gone."""
        uid = last["metadata"]["uid"]
        with self._guard:
            self._present.discard(uid)
            self._running.discard(uid)

    def _note(self, pod: dict[str, Any]) -> None:
        uid = pod["metadata"]["uid"]
        with self._guard:
            self._present.add(uid)
            if pod.get("status", {}).get("phase") == "Running" and uid not in self._running:
                self._running.add(uid)
                self._ran += 1


class DoubleSpotter:
    """Looks, live, for a device in two claims at once, so that a positive control need not go on when it was caught."""

    def __init__(self, api: apis.Api, *, namespace: str) -> None:
        self._spotter = live_spotter.Spotter()
        self._informer = informers.Informer(
            api, apis.CLAIMS, namespace=namespace, name="double-spotter", handlers=[self]
        )

    @property
    def found(self) -> str | None:
        """The first device that was seen in two claims."""
        return self._spotter.found[0] if self._spotter.found else None

    def start(self) -> None:
        """Begin to look."""
        self._informer.start()

    def stop(self) -> None:
        """Look no more."""
        self._informer.stop()

    def on_add(self, obj: dict[str, Any], *, initial: bool) -> None:
        """A claim was created."""
        del initial
        self._spotter.note(obj["metadata"]["uid"], obj)

    def on_update(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        """A claim was changed."""
        del old
        self._spotter.note(new["metadata"]["uid"], new)

    def on_delete(self, last: dict[str, Any]) -> None:
        """A claim is gone."""
        self._spotter.note(last["metadata"]["uid"], None)
