"""A DeviceTaintRule comes while a driver changes its slice, in the middle of an attempt."""

import dataclasses
from typing import Any, cast

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.explore.worlds import small_world, world_fixtures, world_specs
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
        return schedulers.Scheduler(self.api, self.scheduler_options(name), parts)

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


WORLDS: dict[str, world_specs.WorldSpec] = {
    "taint-rule": world_specs.spec(
        TaintRule,
        "a DeviceTaintRule comes while a slice changes, in the middle of an attempt",
        private_locks=world_specs.contended("inventory", "slice-tracker"),
        changes=(1, 0),
        binders=(1, 1),
    ),
}
