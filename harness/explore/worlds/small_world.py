"""A small world: nodes, devices, claims and pods in a new store, and the scheduler under test."""

import random
from collections.abc import Callable, Sequence

from harness import concurrency
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.runtime import scheduler
from harness.explore.worlds import api_server, oracle, world_fixtures, world_specs, world_users
from harness.subject import assembling, schedulers

_REALLOCATE, _TAKE_OVER = "reallocate-claims", "take-over"


class SmallWorld:
    """One world, created for a single run."""

    def __init__(
        self,
        spec: world_specs.Spec,
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str] = (),
    ) -> None:
        self._spec, self._runtime = spec, runtime
        self._late: list[int] = []
        self._written = concurrency.Event("written")
        self._allocated = concurrency.Event("allocated")
        self._past = world_fixtures.filled(spec.claims, spec.devices)
        self._store = stores.Store(
            now=lambda: world_fixtures.NOW,
            stream=random.Random(2),
            past=self._past,
            track_managers=False,  # no one reads managedFields here
        )
        self.oracle = oracle.Oracle(runtime.finish)
        self._store.listen(self.oracle.on_commit)
        server = api_server.LocalServer(
            self._store,
            runtime,
            faults=spec.faults,
            faults_max=spec.faults_max,
        )
        self._users = world_users.Users(server, self._store, rounds=spec.rounds)
        self._api = apis.Api(server)
        self._parts = assembling.parts(defects, remedies)
        self._is_known_to_fail = spec.hazard is not None and spec.hazard.remedy not in remedies
        self.scheduler = self._new_scheduler()

    def _new_scheduler(self) -> schedulers.Scheduler:
        options = schedulers.SchedulerOptions(
            scheduler_name=world_fixtures.SCHEDULER,
            binders=self._spec.binders,
            backoff_initial_s=0.1,
            backoff_max_s=0.1,
        )
        return schedulers.Scheduler(self._api, options, self._parts)

    def start(self) -> None:
        """Start all parts and let them come to rest, without choices."""
        concurrency.spawn("start", self.scheduler.start)
        self._runtime.run(explore=False)
        if self._spec.users:
            concurrency.spawn("start", self._users.start_others)
            self._runtime.run(explore=False)

    def begin(self) -> None:
        """Create the first pods and start the users; the following run is explored."""
        early = self._spec.claims - self._spec.late_pods
        for index in range(early):
            self._create_pod(index)
        for number in range(self._spec.users):
            self._users.spawn(number + 1)
        self._late = list(range(early, self._spec.claims))
        if _TAKE_OVER in self._spec.faults:
            concurrency.spawn("failover", self._fail_over)
        if _REALLOCATE in self._spec.faults:
            concurrency.spawn("other-writer", self._reallocate)
        self._store.listen(self._on_commit)

    def listen(self, listener: Callable[[watch_cache.Commit], None]) -> None:
        """Call the listener for every commit, beginning with those that created the world."""
        for resource, stored in self._past.objects:
            listener(
                watch_cache.Commit(resource=resource, type="ADDED", object=stored, previous=None)
            )
        self._store.listen(listener)

    def create_late_pods(self) -> bool:
        """Create the late pods; return False if there are none left."""
        late, self._late = self._late, []
        for index in late:
            self._create_pod(index, prefix="late-")  # sorts first, so it is tried first
        return bool(late)

    def _fail_over(self) -> None:
        """Replace the scheduler, as when a leader loses its lease.

        The old one takes no new pod but continues what it has begun; the new one starts from a
        list.
        """
        self._written.wait()
        self.scheduler.stop()
        self.create_late_pods()
        self._new_scheduler().start()

    def _reallocate(self) -> None:
        """Free the device of the first claim and allocate the last device to it.

        Another scheduler might do so.
        """
        self._allocated.wait()
        claim = self._api.get(apis.CLAIMS, "claim-1", namespace=world_fixtures.NAMESPACE)
        results = claim["status"]["allocation"]["devices"]["results"]
        freed = self._api.update_status(apis.CLAIMS, {**claim, "status": {}})
        last = [{**results[0], "device": f"device-{self._spec.devices - 1}"}]
        status = {"allocation": {"devices": {"results": last}}}
        self._api.update_status(apis.CLAIMS, {**freed, "status": status})

    def _create_pod(self, index: int, *, prefix: str = "") -> None:
        self._store.create(
            resources.PODS, world_fixtures.NAMESPACE, world_fixtures.pod(index, prefix)
        )

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource is not resources.CLAIMS or commit.type == "ADDED":
            return
        self._written.set()
        if b'"allocation"' in commit.object.data:
            self._allocated.set()
            if not {_REALLOCATE, _TAKE_OVER} & set(self._spec.faults):
                self.create_late_pods()

    def unfinished(self) -> str | None:
        """Describe what is not finished although nothing moves; None if all is done.

        All users must be done and, unless the world is known to fail, every device must have its
        pod.
        """
        if self._users.done < self._spec.users:
            return f"stuck: {self._users.done} users are done, expected {self._spec.users}"
        pods = watch_cache.Selection(resource=resources.PODS, namespace=world_fixtures.NAMESPACE)
        bound = sum("nodeName" in pod.document()["spec"] for pod in self._store.select(pods))
        expected = min(self._spec.claims, self._spec.devices)
        if bound >= expected or self._is_known_to_fail:
            return None
        return f"stuck: {bound} pods are bound, expected {expected}"

    def names(self) -> dict[str, str]:
        """Return the name of every claim and pod by uid."""
        names: dict[str, str] = {}
        for resource in (resources.CLAIMS, resources.PODS):
            selection = watch_cache.Selection(resource=resource, namespace=world_fixtures.NAMESPACE)
            names |= {stored.uid: stored.name for stored in self._store.select(selection)}
        return names
