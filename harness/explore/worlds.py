"""A small world: nodes, devices, claims and pods in a fresh store, and the scheduler that is to be tested in it."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from harness import concurrency
from harness.apiserver import resources, watching
from harness.apiserver import store as stores
from harness.client import apis
from harness.explore import oracles, runtimes, servers, specs, users
from harness.subject import defects, schedulers

Object = dict[str, Any]
NAMESPACE = "default"
SCHEDULER = "flake-hunt"
DRIVER = "gpu.example"
DEVICE_CLASS = "gpu"
SYNC_MAX_NS = 1_000_000_000


class World:
    """One world, made anew for every run."""

    def __init__(
        self,
        spec: specs.Spec,
        runtime: runtimes.ControlledRuntime,
        *,
        chosen_defects: Sequence[str],
    ) -> None:
        self._spec, self._runtime = spec, runtime
        self._late: list[int] = []
        self._store = stores.Store(now=lambda: servers.NOW, stream=random.Random(1))
        self.oracle = oracles.Oracle()
        self._store.listen(self.oracle.on_commit)
        server = servers.LocalServer(
            self._store,
            runtime,
            losses_max=spec.losses_max,
            breaks_max=spec.breaks_max,
            conflicts_max=spec.conflicts_max,
        )
        self._filled: list[watching.Commit] = []
        self._store.listen(self._filled.append)
        self._fill()
        self._users = users.Users(server, self._store, rounds=spec.rounds)
        self._api = apis.Api(server)
        self._parts = defects.parts(chosen_defects)
        self.scheduler = self._new_scheduler()

    def _new_scheduler(self) -> schedulers.Scheduler:
        options = schedulers.Options(
            scheduler_name=SCHEDULER,
            binders=self._spec.binders,
            backoff_initial_s=0.1,
            backoff_max_s=0.1,
        )
        return schedulers.Scheduler(self._api, options, self._parts)

    def start(self) -> None:
        """Start everything and let it come to rest; nothing is chosen yet."""
        concurrency.spawn("start", self.scheduler.start)
        self._runtime.run(explore=False)
        if self._spec.users:
            concurrency.spawn("start", self._users.start_others)
            self._runtime.run(explore=False)

    def begin(self) -> None:
        """Create the pods: from now on everything is chosen."""
        early = self._spec.claims - self._spec.late_pods
        for index in range(early):
            self._create_pod(index)
        for number in range(self._spec.users):
            self._users.spawn(number + 1)
        self._late = list(range(early, self._spec.claims))
        self._written, self._allocated = (
            concurrency.Event("written"),
            concurrency.Event("allocated"),
        )
        if self._spec.fails_over:
            concurrency.spawn("failover", self._fail_over)
        if self._spec.reallocates:
            concurrency.spawn("other-writer", self._reallocate)
        self._store.listen(self._on_commit)

    def listen(self, listener: Callable[[watching.Commit], None]) -> None:
        """Be told of every commit, also of those that made the world."""
        for commit in self._filled:
            listener(commit)
        self._store.listen(listener)

    def go_on(self) -> bool:
        """All is at rest: create the pods that are still to come; False when there are none."""
        late, self._late = self._late, []
        for index in late:
            self._create_pod(index, prefix="late-")  # first in every list: it is tried first
        return bool(late)

    def _fail_over(self) -> None:
        """As when a leader loses its lease: it takes no new pod, what it has begun goes on, and the next one starts from a list."""
        self._written.wait()
        self.scheduler.stop()
        self.go_on()
        self._new_scheduler().start()

    def _reallocate(self) -> None:
        """Take the device of the first claim away and give it the last one, as another scheduler might."""
        self._allocated.wait()
        claim = self._api.get(apis.CLAIMS, "claim-1", namespace=NAMESPACE)
        results = claim["status"]["allocation"]["devices"]["results"]
        freed = self._api.update_status(apis.CLAIMS, {**claim, "status": {}})
        last = [{**results[0], "device": f"device-{self._spec.devices - 1}"}]
        status = {"allocation": {"devices": {"results": last}}}
        self._api.update_status(apis.CLAIMS, {**freed, "status": status})

    def _create_pod(self, index: int, *, prefix: str = "") -> None:
        self._store.create(resources.PODS, NAMESPACE, _pod(index, prefix))

    def _on_commit(self, commit: watching.Commit) -> None:
        if commit.resource is not resources.CLAIMS or commit.type == "ADDED":
            return
        self._written.set()
        if b'"allocation"' in commit.object.data:
            self._allocated.set()
            if not (self._spec.reallocates or self._spec.fails_over):
                self.go_on()

    def unfinished(self) -> str | None:
        """Nothing moves any more: every device must have its pod, and every user be done, unless answers were lost."""
        if self._users.done < self._spec.users:
            return f"stuck: {self._users.done} users are done, expected {self._spec.users}"
        pods = watching.Selection(resource=resources.PODS, namespace=NAMESPACE)
        bound = sum("nodeName" in pod.document()["spec"] for pod in self._store.select(pods))
        expected = min(self._spec.claims, self._spec.devices)
        if bound >= expected or self._spec.is_known_to_fail:
            return None
        return f"stuck: {bound} pods are bound, expected {expected}"

    def names(self) -> dict[str, str]:
        """uid -> name of every claim and pod."""
        found: dict[str, str] = {}
        for resource in (resources.CLAIMS, resources.PODS):
            selection = watching.Selection(resource=resource, namespace=NAMESPACE)
            found |= {stored.uid: stored.name for stored in self._store.select(selection)}
        return found

    def _fill(self) -> None:
        self._store.create(resources.NODES, "", _node())
        self._store.create(resources.DEVICE_CLASSES, "", _device_class())
        self._store.create(resources.SLICES, "", _slice(self._spec.devices))
        for index in range(self._spec.claims):
            self._store.create(resources.CLAIMS, NAMESPACE, _claim(index))


def _node() -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-0"}}


def _device_class() -> Object:
    return {
        "apiVersion": apis.DEVICE_CLASSES.api_version,
        "kind": "DeviceClass",
        "metadata": {"name": DEVICE_CLASS},
        "spec": {},
    }


def _slice(devices: int) -> Object:
    return {
        "apiVersion": apis.SLICES.api_version,
        "kind": "ResourceSlice",
        "metadata": {"name": "worker-0"},
        "spec": {
            "driver": DRIVER,
            "nodeName": "worker-0",
            "pool": {"name": "worker-0", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"device-{index}"} for index in range(devices)],
        },
    }


def _claim(index: int) -> Object:
    request = {"name": "device", "exactly": {"deviceClassName": DEVICE_CLASS}}
    return {
        "apiVersion": apis.CLAIMS.api_version,
        "kind": "ResourceClaim",
        "metadata": {"name": f"claim-{index + 1}"},
        "spec": {"devices": {"requests": [request]}},
    }


def _pod(index: int, prefix: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{prefix}pod-{index + 1}"},
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [{"name": "work", "image": "none"}],
            "resourceClaims": [{"name": "device", "resourceClaimName": f"claim-{index + 1}"}],
        },
    }
