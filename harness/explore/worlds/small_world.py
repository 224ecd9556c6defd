"""A small world: nodes, devices, claims and pods in a fresh store, and the scheduler that is to be tested in it."""

import random
from collections.abc import Callable, Sequence

from harness import concurrency
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.runtime import scheduler
from harness.explore.worlds import api_server, oracle, world_fixtures, world_specs, world_users
from harness.subject import defects, schedulers


class SmallWorld:
    """One world, made anew for every run."""

    def __init__(
        self,
        spec: world_specs.Spec,
        runtime: scheduler.ControlledRuntime,
        *,
        chosen_defects: Sequence[str],
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
            track_managers=False,  # nobody looks at them here
        )
        self.oracle = oracle.Oracle(runtime.finish)
        self._store.listen(self.oracle.on_commit)
        server = api_server.LocalServer(
            self._store,
            runtime,
            losses_max=spec.losses_max,
            breaks_max=spec.breaks_max,
            conflicts_max=spec.conflicts_max,
        )
        self._users = world_users.Users(server, self._store, rounds=spec.rounds)
        self._api = apis.Api(server)
        self._parts = defects.parts(chosen_defects)
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
        if self._spec.fails_over:
            concurrency.spawn("failover", self._fail_over)
        if self._spec.reallocates:
            concurrency.spawn("other-writer", self._reallocate)
        self._store.listen(self._on_commit)

    def listen(self, listener: Callable[[watch_cache.Commit], None]) -> None:
        """Be told of every commit, also of those that made the world."""
        for resource, stored in self._past.objects:
            listener(
                watch_cache.Commit(resource=resource, type="ADDED", object=stored, previous=None)
            )
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
            if not (self._spec.reallocates or self._spec.fails_over):
                self.go_on()

    def unfinished(self) -> str | None:
        """Nothing moves any more: every device must have its pod, and every user be done, unless answers were lost."""
        if self._users.done < self._spec.users:
            return f"stuck: {self._users.done} users are done, expected {self._spec.users}"
        pods = watch_cache.Selection(resource=resources.PODS, namespace=world_fixtures.NAMESPACE)
        bound = sum("nodeName" in pod.document()["spec"] for pod in self._store.select(pods))
        expected = min(self._spec.claims, self._spec.devices)
        if bound >= expected or self._spec.is_known_to_fail:
            return None
        return f"stuck: {bound} pods are bound, expected {expected}"

    def names(self) -> dict[str, str]:
        """uid -> name of every claim and pod."""
        found: dict[str, str] = {}
        for resource in (resources.CLAIMS, resources.PODS):
            selection = watch_cache.Selection(resource=resource, namespace=world_fixtures.NAMESPACE)
            found |= {stored.uid: stored.name for stored in self._store.select(selection)}
        return found
