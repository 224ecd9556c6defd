"""The things that other clients do in a drawn world, each a method of `Actions`."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Protocol, cast

from harness.client import apis
from harness.explore.runtime import scheduler
from harness.explore.worlds import api_server, world_fixtures
from harness.explore.worlds.random_worlds import (
    device_drawing,
    drawings,
    partition_drawing,
    pod_drawing,
)
from harness.model.objects import Object
from harness.subject.claim_control import claim_controllers
from harness.subject.scheduling import schedulers
from harness.subject.slice_tracking import slice_trackers

REPORTS_MAX = 20 + 2 * pod_drawing.MANY
"""Maximum number of reports of the driver of devices with conditions."""
_RULE: Object = {
    "apiVersion": "resource.k8s.io/v1beta2",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "broken", "uid": "rule", "resourceVersion": "1"},
    "spec": {
        "deviceSelector": {"driver": world_fixtures.DRIVER},
        "taint": {"key": "broken", "effect": "NoSchedule"},
    },
}


class World(Protocol):
    """The part of a world that the actions need."""

    drawing: drawings.Drawing
    moments: drawings.Moments
    clients: apis.Api
    runtime: scheduler.ControlledRuntime
    sizes: Any
    server: api_server.LocalServer
    controller: claim_controllers.ClaimController | None

    def create(self, document: Object) -> None:
        """Create an object at once."""

    def start_actor(self, name: str) -> None:
        """Start an actor."""

    def stop_scheduler(self) -> None:
        """Stop the first scheduler."""

    def start_successor(self) -> None:
        """Start another scheduler in place of the first one."""

    def add_rule(self, rule: Object) -> None:
        """Let a DeviceTaintRule come."""


class Actions:
    """The actions of one run."""

    def __init__(self, world: World) -> None:
        self._world = world

    def perform(self, part: drawings.Part) -> None:
        """Let a part happen, at once."""
        if part.kind == "actor":
            self._world.start_actor(part.name)
        elif part.does:
            getattr(self, part.does)(part.target)
        else:
            for document in part.documents:
                self._world.create(document)

    # ------------------------------------------------------------------------------- pods

    def delete_pod(self, name: str) -> None:
        """Delete a pod; if no kubelet can end it, by force."""
        has_kubelets = self._world.drawing.has(("kubelets",))
        with apis.if_there():
            self._world.clients.delete(
                apis.PODS,
                name,
                namespace=world_fixtures.NAMESPACE,
                grace_period_s=None if has_kubelets else 0,
            )

    def finish_pod(self, name: str) -> None:
        self._change(apis.PODS, name, world_fixtures.finished, is_status=True)

    # ----------------------------------------------------------------------------- claims

    def delete_claim(self, name: str) -> None:
        with apis.if_there():
            self._world.clients.delete(apis.CLAIMS, name, namespace=world_fixtures.NAMESPACE)

    def lose_claim(self, pod: str) -> None:
        """Delete the first generated claim of a pod."""
        for name in self._world.moments.recorded.get(pod, ())[:1]:
            self.delete_claim(name)

    # ------------------------------------------------------------------------------ pools

    def withdraw_pool(self, part: str) -> None:
        """Delete the slices of a pool."""
        for name in self._slices_of(part):
            with apis.if_there():
                self._world.clients.delete(apis.SLICES, name)

    def renew_pool(self, part: str) -> None:
        """Publish a new generation of a pool of one slice, with as many other devices."""

        def renew(document: Object) -> Object:
            spec = document["spec"]
            pool = {**spec["pool"], "generation": spec["pool"]["generation"] + 1}
            listed = [{**item, "name": f"new-{item['name']}"} for item in spec["devices"]]
            return {**document, "spec": {**spec, "pool": pool, "devices": listed}}

        self._change_slices(part, renew)

    def revise_devices(self, part: str) -> None:
        """Change an attribute of the devices of a pool."""
        revision = {"gpu.example/revision": {"int": 1}}

        def revise(document: Object) -> Object:
            spec = document["spec"]
            listed = [
                {**item, "attributes": {**item.get("attributes", {}), **revision}}
                for item in spec.get("devices") or ()
            ]
            return {**document, "spec": {**spec, **({"devices": listed} if listed else {})}}

        self._change_slices(part, revise)

    def share_devices(self, part: str) -> None:
        def share(document: Object) -> Object:
            spec = document["spec"]
            listed = [
                partition_drawing.with_sharing(
                    item, is_shared=not item.get("allowMultipleAllocations")
                )
                for item in spec.get("devices") or ()
            ]
            return {**document, "spec": {**spec, **({"devices": listed} if listed else {})}}

        self._change_slices(part, share)

    def drop_device(self, part: str) -> None:
        """Let the first device of a pool leave its slice."""

        def drop(document: Object) -> Object:
            spec = document["spec"]
            listed = (spec.get("devices") or [])[1:]
            return {**document, "spec": {**spec, **({"devices": listed} if listed else {})}}

        self._change_slices(part, drop)

    def add_rule(self, _: str) -> None:
        """Let a rule come that taints all devices."""
        self._world.add_rule(_RULE)

    def _change_slices(self, part: str, change: Callable[[Object], Object]) -> None:
        for name in self._slices_of(part):
            self._change(apis.SLICES, name, change)

    def _slices_of(self, part: str) -> list[str]:
        [found] = [item for item in self._world.drawing.parts if item.name == part]
        return [document["metadata"]["name"] for document in found.documents]

    # ----------------------------------------------------------------------------- actors

    def stop_controller(self, _: str) -> None:
        """Stop the claim controller, which finishes what it does; another one comes at rest."""
        if self._world.controller is not None:
            self._world.controller.stop()
            self._world.controller = None

    def fail_over(self, _: str) -> None:
        """Stop the scheduler, which goes on with what it has begun, and start another one."""
        self._world.stop_scheduler()
        self._world.start_successor()

    def report_devices(self) -> None:
        """Report on each allocated device: the first are broken, the others ready."""
        for number in range(REPORTS_MAX):
            name = self._world.moments.allocations.get()
            is_broken = number < self._world.sizes.get("failures", 0)
            kind = device_drawing.BROKEN if is_broken else device_drawing.READY
            report = functools.partial(_reported, kind=kind)
            self._change(apis.CLAIMS, name, report, is_status=True)

    # --------------------------------------------------------------------------- requests

    def _change(
        self,
        resource: apis.Resource,
        name: str,
        change: Callable[[Object], Object],
        *,
        is_status: bool = False,
    ) -> None:
        """Change an object, again after each conflict; do nothing if it is gone."""
        namespace = world_fixtures.NAMESPACE if resource.namespaced else None
        update = self._world.clients.update_status if is_status else self._world.clients.update
        is_changed = False
        while not is_changed:
            try:
                found = self._world.clients.get(resource, name, namespace=namespace)
                update(resource, change(found))
                is_changed = True
            except apis.ApiError as error:
                if not error.is_conflict:
                    is_changed = error.is_not_found
                    if not is_changed:
                        raise


def with_known_tracker(
    parts: schedulers.SchedulerParts, know: Callable[[slice_trackers.SliceTracker], None]
) -> schedulers.SchedulerParts:
    correct = parts.slice_tracker

    def make(*arguments: Any, **options: Any) -> slice_trackers.SliceTracker:
        tracker = correct(*arguments, **options)
        know(tracker)
        return tracker

    return dataclasses.replace(parts, slice_tracker=cast(Any, make))


def _reported(claim: Object, kind: str) -> Object:
    status = claim.get("status") or {}
    results = (status.get("allocation") or {}).get("devices", {}).get("results") or ()
    condition = {
        "type": kind,
        "status": "True",
        "reason": "Reported",
        "message": "by the driver",
        "lastTransitionTime": world_fixtures.NOW,
    }
    listed = [
        {**{key: result[key] for key in ("driver", "pool", "device")}, "conditions": [condition]}
        for result in results
    ]
    return {**claim, "status": {**status, "devices": listed}}
