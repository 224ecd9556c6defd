"""Ways of getting stuck, in the real scheduler with all its threads against the real store: each
broken part is found by the check of progress.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from harness import concurrency
from harness.apiserver.storage import watch_cache
from harness.checks import protocol, verdicts
from harness.checks.progress import claim_progress, world_states
from harness.client import apis
from harness.history import records
from harness.subject.objects import claims
from harness.subject.plugin import claim_binding, scheduling_attempts
from harness.subject.scheduling import schedulers
from harness.subject.tracking import allocated_devices, assume_caches
from tests.histories import building, worlds
from tests.support import api_objects, local_servers, scheduler_worlds

pytestmark = pytest.mark.detection
Object = dict[str, Any]
VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
SECONDS = 60.0
"""Made-up time from the last change to the end of the run."""


class LeavesInFlight(claim_binding.ClaimBinder):
    """After a failed attempt, the claim stays in flight for ever (as in Volcano, Volcano #5102)."""

    def unreserve(self, attempt: scheduling_attempts.Attempt) -> None:
        del attempt


class NeverFrees(allocated_devices.AllocatedDevices):
    """The tracker never learns that a device was given back."""

    def on_update(self, old: Object, new: Object) -> None:
        if claims.allocation_of(new):
            super().on_update(old, new)


class ForgetsUpdates(assume_caches.AssumeCache):
    """The cache ignores the informer's updates of claims that it knows as allocated."""

    def on_update(self, old: Object, new: Object) -> None:
        if claims.allocation_of(old) is None:
            super().on_update(old, new)


class World(scheduler_worlds.World):
    """A scheduler, and everything that the store has committed."""

    def __init__(self, parts: schedulers.SchedulerParts) -> None:
        self._commits: list[watch_cache.Commit] = []
        self._steps: list[records.Step] = []
        server = local_servers.LocalServer()
        server.store.listen(self._commits.append)
        super().__init__(server, parts)

    def __enter__(self) -> "World":
        concurrency.listen(self._listen)
        self.scheduler.start()
        return self

    def __exit__(self, *error: object) -> None:
        concurrency.listen(None)
        self.server.close()

    def judge(self) -> verdicts.CheckResult:
        for pod in self.api.list(apis.PODS, namespace="default").items:
            if pod["spec"].get("nodeName"):
                running = {**pod, "status": {**pod["status"], "phase": "Running"}}
                self.api.update_status(apis.PODS, running)
        self.scheduler.stop()
        return claim_progress.judge(self._given())

    def run_pod(self, name: str, *, allocated: Object | None = None) -> None:
        """Create a pod with a claim, and wait until it is bound."""
        self.add_pod(name, allocated=allocated)
        self.wait_bound(name)

    def free(self, pod: str) -> None:
        """Do the claim controller's work after a pod has gone."""
        self.api.delete(apis.PODS, pod, namespace="default", grace_period_s=0)
        claim = self.claim(f"of-{pod}")
        freed = claims.with_status(claim, allocation=None, reservedFor=None)
        self.api.update_status(apis.CLAIMS, freed)

    def wait_unschedulable(self, pod: str) -> None:
        """Wait until an attempt to schedule the pod has found no way."""
        uid = self.pod(pod)["metadata"]["uid"]
        self.wait(
            lambda: any(
                (step.name, step.fields.get("pod")) == ("scheduling.unschedulable", uid)
                for step in list(self._steps)
            ),
            f"{pod} to be unschedulable",
        )

    def _listen(self, name: str, fields: concurrency.StepFields) -> None:
        document = msgspec.to_builtins(dict(fields))
        end_ns = int(SECONDS * worlds.SECOND_NS)
        self._steps.append(building.step(len(self._steps), "", name, end_ns, **document))

    def _given(self) -> protocol.Evidence:
        pools = {"driver": api_objects.DRIVER, "device_class": {"name": api_objects.CLASS}}
        plan = msgspec.structs.replace(worlds.plan(), settings={"pools": pools})
        return worlds.judged(
            list(_observations(self._commits)),
            plan=plan,
            phases=worlds.phases(seconds=SECONDS),
        )


def _observations(commits: list[watch_cache.Commit]) -> Iterator[records.Body]:
    """The records of a recorder that saw every commit at time 1."""
    live: dict[str, dict[str, records.Observation]] = {name: {} for name in world_states.TYPES}
    for commit in commits:
        if commit.resource.plural in live:
            seen = _observation(commit)
            live[commit.resource.plural][commit.object.uid] = seen
            if seen.type == "DELETED":
                del live[commit.resource.plural][commit.object.uid]
            yield seen
    for resource, objects in live.items():
        yield records.Listed(
            resource=resource, purpose="final", resource_version=0, count=len(objects), ts_ns=1
        )
        for item in objects.values():
            yield msgspec.structs.replace(item, type="FINAL")


def _observation(commit: watch_cache.Commit) -> records.Observation:
    return records.Observation(
        resource=commit.resource.plural,
        type=commit.type,  # type: ignore[arg-type]
        resource_version=commit.object.resource_version,
        ts_ns=1,
        object=msgspec.Raw(commit.object.data),
    )


def a_write_fails(world: World) -> None:
    """The API server refuses the first allocation of the only pod."""
    world.server.refuse("PUT", "/status", status=500)
    world.add_pod("p")


def a_device_is_given_back(world: World) -> None:
    """A third pod waits for one of two devices, then the first pod goes. When a pod with a new
    claim is bound, the scheduler has received the events of the first pod's claim.
    """
    world.run_pod("p")
    world.run_pod("q")
    world.add_pod("r")
    world.wait_unschedulable("r")
    world.free("p")
    world.run_pod("s", allocated=api_objects.allocation("c"))


@pytest.mark.parametrize("story", [a_write_fails, a_device_is_given_back])
def test_the_correct_scheduler_makes_progress(story: Callable[[World], None]) -> None:
    with World(schedulers.SchedulerParts()) as world:
        story(world)
        world.wait_bound("p" if story is a_write_fails else "r")
        progress = world.judge()
    assert (progress.verdict, progress.reason[-16:]) == (VALID, "nothing is stuck")


@pytest.mark.parametrize(
    ("broken", "story", "stuck"),
    [
        ({"claim_binder": LeavesInFlight}, a_write_fails, "p"),
        ({"allocated": NeverFrees}, a_device_is_given_back, "r"),
        ({"assume_cache": ForgetsUpdates}, a_device_is_given_back, "r"),
    ],
)
def test_a_broken_part_is_found(
    broken: dict[str, Any], story: Callable[[World], None], stuck: str
) -> None:
    with World(schedulers.SchedulerParts(**broken)) as world:
        story(world)
        world.wait_unschedulable(stuck)
        progress = world.judge()
    assert progress.verdict is INVALID
    assert f"STUCK: pod {stuck} waits while gpu.example.com/worker-0/a is idle" in progress.reason
