"""A device cannot be made ready for its pod: PreBind gives it up, and another attempt begins."""

from collections.abc import Iterable
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import (
    device_exclusivity,
    ready_devices,
    reservations,
)
from harness.model.objects import Object

READY, BROKEN = "gpu.example/ready", "gpu.example/broken"


class ConditionFails(small_world.SmallWorld):
    """Pods with a claim each, and a driver that makes devices ready after their allocation.

    The first of them turn out to be broken. Their claims lose them, and the pods are tried again.
    """

    judged_by = (
        device_exclusivity.DeviceExclusivity,
        reservations.Reservations,
        ready_devices.ReadyDevices,
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
        """Note each claim that gets a device."""
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


WORLDS: dict[str, world_specs.WorldSpec] = {
    "binding-condition-fails": world_specs.spec(
        ConditionFails,
        "the first device that is allocated turns out to be broken before its pod is bound",
        private_locks=world_specs.contended("binding-conditions"),
        pods=(2, 1),
        failures=(1, 0),
        binders=world_specs.ANY_BINDERS,
    ),
}
