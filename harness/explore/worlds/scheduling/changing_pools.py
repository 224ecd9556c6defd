"""Devices change while pods are being scheduled: pools, taints, conditions, claims of others."""

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any, cast

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import asked_devices, device_exclusivity, reservations
from harness.model.objects import Object
from harness.subject.scheduling import schedulers
from harness.subject.slice_tracking import slice_trackers

LATE = "pod-2"
_RULE: Object = {
    "apiVersion": "resource.k8s.io/v1beta2",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "broken", "uid": "rule", "resourceVersion": "1"},
    "spec": {
        "deviceSelector": {"driver": world_fixtures.DRIVER},
        "taint": {"key": "broken", "effect": "NoSchedule"},
    },
}


class TaintRule(small_world.SmallWorld):
    """A rule taints all devices, and the last pod, which comes when all is at rest, gets none.

    The rule comes to the scheduler as from its informer: the API server of the worlds has no rules,
    which are off in Kubernetes unless they are asked for.
    """

    device_count = 2
    claim_count = 2

    def new_scheduler(self, name: str) -> schedulers.Scheduler:
        """Return a scheduler whose slice tracker is known here."""
        correct = self.parts.scheduler.slice_tracker

        def make(*arguments: Any, **options: Any) -> slice_trackers.SliceTracker:
            self._tracker = correct(*arguments, **options)
            return self._tracker

        parts = dataclasses.replace(self.parts.scheduler, slice_tracker=cast(Any, make))
        return self.scheduler_of(name, parts)

    def begin(self) -> None:
        """Create the first pod, and start the driver and the informer of rules."""
        self.create(world_fixtures.pod("pod-1", "claim-1"))
        concurrency.spawn("driver", self._change_slice)
        concurrency.spawn("informer-devicetaintrules", self._add_rule)

    def _change_slice(self) -> None:
        for number in range(self.sizes["changes"]):
            attribute = {"gpu.example/revision": {"int": number}}
            listed = [{**device, "attributes": attribute} for device in world_fixtures.devices(2)]
            self.runtime.point()
            with self.runtime.atomically():
                self.store.patch(resources.SLICES, "", world_fixtures.NODE, _WithDevices(listed))

    def _add_rule(self) -> None:
        self._tracker.rules.on_add(_RULE, initial=False)

    def go_on(self) -> bool:
        """Create the last pod, once."""
        if self.store.has(resources.PODS, world_fixtures.NAMESPACE, LATE):
            return False
        self.create(world_fixtures.pod(LATE, "claim-2"))
        return True

    def unfinished(self) -> str | None:
        """Return whether the last pod is bound although all devices have a taint."""
        pod = self.store.get(resources.PODS, world_fixtures.NAMESPACE, LATE).document()
        if "nodeName" in pod["spec"]:
            return f"taint: {LATE} is bound, although every device has a taint"
        return self.differing_books()


@dataclasses.dataclass(frozen=True, slots=True)
class _WithDevices:
    """Replaces the devices of a slice."""

    devices: list[Object]

    def __call__(self, document: Object) -> Object:
        return {**document, "spec": {**document["spec"], "devices": self.devices}}


HOLDER = "claim-of-another"


class DeletedClaim(small_world.SmallWorld):
    """A claim without a finalizer holds the only device, and is deleted when all is at rest.

    Another client has allocated it. The pod that waits for the device must then get it.
    """

    def objects(self) -> Iterable[Object]:
        """Return a node with one device, the claim that has it, and the pod's claim."""
        yield from world_fixtures.one_node(1)
        held = world_fixtures.allocated("device-0")
        yield {**world_fixtures.claim(HOLDER), "status": held}
        yield world_fixtures.claim("claim-1")

    def begin(self) -> None:
        """Create the pod."""
        self.create(world_fixtures.pod("pod-1", "claim-1"))

    def go_on(self) -> bool:
        """Delete the claim that holds the device, once."""
        if not self.store.has(resources.CLAIMS, world_fixtures.NAMESPACE, HOLDER):
            return False
        self.store.delete(resources.CLAIMS, world_fixtures.NAMESPACE, HOLDER)
        return True


READY, BROKEN = "gpu.example/ready", "gpu.example/broken"


class ConditionFails(small_world.SmallWorld):
    """Pods with a claim each, and a driver that makes devices ready after their allocation.

    The first of them turn out to be broken. Their claims lose them, and the pods are tried again.
    """

    judged_by = (
        device_exclusivity.DeviceExclusivity,
        reservations.Reservations,
        asked_devices.ReadyDevices,
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._allocated: concurrency.Queue[str] = concurrency.Queue("allocated")
        self._had_device: dict[str, bool] = {}

    def objects(self) -> Iterable[Object]:
        """Return a node with a device for each pod, and the claims."""
        yield world_fixtures.node()
        yield world_fixtures.device_class()
        conditions = {"bindingConditions": [READY], "bindingFailureConditions": [BROKEN]}
        listed = world_fixtures.devices(self.sizes["pods"])
        yield world_fixtures.pool([{**device, **conditions} for device in listed])
        for index in range(self.sizes["pods"]):
            yield world_fixtures.claim(f"claim-{index + 1}")

    def begin(self) -> None:
        """Create the pods, and start the driver."""
        self.store.listen(self._on_commit)
        for index in range(self.sizes["pods"]):
            self.create(world_fixtures.pod(f"pod-{index + 1}", f"claim-{index + 1}"))
        concurrency.spawn("driver", self._report)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource is resources.CLAIMS:
            name, has_device = commit.object.name, b'"allocation"' in commit.object.data
            if has_device and not self._had_device.get(name):
                self._allocated.put(name)
            self._had_device[name] = has_device

    def _report(self) -> None:
        """Report on each allocated device, first that it is broken, later that it is ready."""
        for number in range(self.sizes["pods"] + self.sizes["failures"]):
            name = self._allocated.get()
            kind = BROKEN if number < self.sizes["failures"] else READY
            while not self._is_reported(name, kind):
                concurrency.step("driver.conflict", claim=name)

    def _is_reported(self, name: str, kind: str) -> bool:
        """Report a condition of the claim's device; return False after a conflict."""
        claim = self.api.get(apis.CLAIMS, name, namespace=world_fixtures.NAMESPACE)
        results = (claim["status"].get("allocation") or {}).get("devices", {}).get("results", ())
        status = {**claim["status"], "devices": [_reported(result, kind) for result in results]}
        try:
            self.api.update_status(apis.CLAIMS, {**claim, "status": status})
        except apis.ApiError as error:
            if not error.is_conflict:
                raise
            return False
        return True


def _reported(result: Object, kind: str) -> Object:
    condition = {
        "type": kind,
        "status": "True",
        "reason": "Reported",
        "message": "by the driver",
        "lastTransitionTime": world_fixtures.NOW,
    }
    place = {key: result[key] for key in ("driver", "pool", "device")}
    return {**place, "conditions": [condition]}


SLICES = ("slice-1", "slice-2")
NEW = "new-"
"""Prefix of the devices of the new generation."""


class NewGeneration(small_world.SmallWorld):
    """A pool of two slices gets a new generation, one slice after the other.

    Between these writes the pool is incomplete. The first devices are gone
    afterwards, and there are enough others for all pods. The last pod comes when all is at rest.
    """

    def objects(self) -> Iterable[Object]:
        """Return a node with a pool of two slices with a device each, and the claims."""
        yield world_fixtures.node()
        yield world_fixtures.device_class()
        for name in SLICES:
            yield _slice(name, generation=1, devices=[{"name": f"device-of-{name}"}])
        for index in range(self.sizes["pods"]):
            yield world_fixtures.claim(f"claim-{index + 1}")

    def begin(self) -> None:
        """Create all pods but the last, and start the driver."""
        for number in range(1, self.sizes["pods"]):
            self._create_pod(number)
        concurrency.spawn("driver", self._publish)

    def go_on(self) -> bool:
        """Create the last pod, once."""
        name = f"pod-{self.sizes['pods']}"
        if self.store.has(resources.PODS, world_fixtures.NAMESPACE, name):
            return False
        self._create_pod(self.sizes["pods"])
        return True

    def _create_pod(self, number: int) -> None:
        self.create(world_fixtures.pod(f"pod-{number}", f"claim-{number}"))

    def _publish(self) -> None:
        for name in SLICES:
            self.runtime.point()
            listed = [{"name": f"{NEW}{name}-{index}"} for index in range(self.sizes["pods"])]
            new = _slice(name, generation=2, devices=listed)
            with self.runtime.atomically():
                self.store.patch(
                    resources.SLICES, "", name, functools.partial(_with_spec, new["spec"])
                )

    def unfinished(self) -> str | None:
        """Return whether the last pod has a device that was gone before it came, or is stuck."""
        name = f"claim-{self.sizes['pods']}"
        claim = self.store.get(resources.CLAIMS, world_fixtures.NAMESPACE, name).document()
        results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results")
        for result in results or ():
            if not result["device"].startswith(NEW):
                return f"gone: {name} got {result['device']}, which the pool has no longer"
        return super().unfinished()


def _slice(name: str, *, generation: int, devices: list[Object]) -> Object:
    pool = {
        "name": world_fixtures.NODE,
        "generation": generation,
        "resourceSliceCount": len(SLICES),
    }
    return world_fixtures.pool(devices, slice_name=name, pool=pool)


def _with_spec(spec: Object, document: Object) -> Object:
    return {**document, "spec": spec}


WORLDS: dict[str, world_specs.WorldSpec] = {
    "new-generation": world_specs.spec(
        NewGeneration,
        "a pool gets a new generation, slice by slice, in the middle of attempts",
        private_locks=world_specs.contended("inventory", "slice-tracker"),
        pods=(3, 2),
        binders=world_specs.ANY_BINDERS,
    ),
    "taint-rule": world_specs.spec(
        TaintRule,
        "a DeviceTaintRule comes while a slice changes, in the middle of an attempt",
        private_locks=world_specs.contended("inventory", "slice-tracker"),
        changes=(1, 0),
        binders=(1, 1),
    ),
    "allocated-claim-deleted": world_specs.spec(
        DeletedClaim,
        "a claim without finalizer is deleted while a pod waits for its device",
        binders=(1, 1),
    ),
    "binding-condition-fails": world_specs.spec(
        ConditionFails,
        "the first device that is allocated turns out to be broken before its pod is bound",
        private_locks=world_specs.contended("binding-conditions"),
        pods=(2, 1),
        failures=(1, 0),
        binders=world_specs.ANY_BINDERS,
    ),
}
