"""The things that other clients do in a world, each a method of `Actions`."""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from harness import concurrency
from harness.client import apis
from harness.explore.worlds import parts, world_fixtures
from harness.explore.worlds.oracles import states
from harness.model.objects import Object
from harness.subject.scheduling import schedulers
from harness.subject.slice_tracking import slice_trackers

if TYPE_CHECKING:
    from harness.explore.worlds import world

_BEGIN = "1970-01-01T00:00:00Z"
"""When virtual time begins."""
REPORTS_MAX = 224
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


class Actions:
    """The actions of one run."""

    def __init__(self, world: "world.World") -> None:
        self._world = world
        self._trackers: list[slice_trackers.SliceTracker] = []
        """Those of all schedulers, also of the ones that have stopped."""
        self._rules: list[Object] = []
        """The DeviceTaintRules; the API server of the worlds does not keep them."""

    def knowing_rules(self, chosen: schedulers.SchedulerParts) -> schedulers.SchedulerParts:
        """Return parts of a scheduler whose slice tracker learns of rules, as from an informer."""
        correct = chosen.slice_tracker

        def make(*arguments: Any, **options: Any) -> slice_trackers.SliceTracker:
            tracker = correct(*arguments, **options)
            self._trackers.append(tracker)
            for rule in self._rules:
                tracker.rules.on_add(rule, initial=True)
            return tracker

        return dataclasses.replace(chosen, slice_tracker=cast(Any, make))

    # ------------------------------------------------------------------------------- pods

    def delete_pod(self, name: str) -> None:
        """Delete a pod; if no kubelet can end it, by force."""
        has_kubelets = self._world.setting.has((parts.KUBELETS,))
        self._delete_pod(name, None if has_kubelets else 0)

    def kill_pod(self, name: str) -> None:
        """Delete a pod by force: its containers run on."""
        self._delete_pod(name, 0)

    def _delete_pod(self, name: str, grace_period_s: int | None) -> None:
        namespace = world_fixtures.NAMESPACE
        with apis.if_there():
            self._world.clients.delete(
                apis.PODS, name, namespace=namespace, grace_period_s=grace_period_s
            )

    def finish_pod(self, name: str) -> None:
        self._change(apis.PODS, name, world_fixtures.finished, is_status=True)

    def bind_pod(self, name: str) -> None:
        self._world.clients.bind(self._get(apis.PODS, name), world_fixtures.NODE)

    # ----------------------------------------------------------------------------- claims

    def delete_claim(self, name: str) -> None:
        with apis.if_there():
            self._world.clients.delete(apis.CLAIMS, name, namespace=world_fixtures.NAMESPACE)

    def lose_claim(self, pod: str) -> None:
        """Delete the first generated claim of a pod."""
        for name in self._world.moments.recorded.get(pod, ())[:1]:
            concurrency.step("client.claim.deleted", claim_name=name)
            self.delete_claim(name)

    def reserve_claim(self, target: str) -> None:
        """Allocate a claim and reserve it for a pod, as its scheduler would."""
        name, pod_name = target.split()
        pod, claim = self._get(apis.PODS, pod_name), self._get(apis.CLAIMS, name)
        user = {"resource": "pods", "name": pod_name, "uid": pod["metadata"]["uid"]}
        status = world_fixtures.allocated("device-0", [user])
        self._world.clients.update_status(apis.CLAIMS, {**claim, "status": status})

    def give_back(self, target: str) -> None:
        name, _, users = target.partition(" ")
        for uid in users.split(","):
            self._world.clients.patch(
                apis.CLAIMS,
                name,
                {"status": {"reservedFor": [{"$patch": "delete", "uid": uid}]}},
                namespace=world_fixtures.NAMESPACE,
                kind=apis.PatchKind.STRATEGIC,
                subresource="status",
            )

    def free_claim(self, name: str) -> Object:
        """Take the device and all reservations from a claim, and return it."""
        claim = self._get(apis.CLAIMS, name)
        return self._world.clients.update_status(apis.CLAIMS, {**claim, "status": {}})

    def move_claim(self, target: str) -> None:
        """Free a claim and allocate another device to it, as another scheduler might do."""
        name, device = target.split()
        freed = self.free_claim(name)
        status = world_fixtures.allocated(device)
        self._world.clients.update_status(apis.CLAIMS, {**freed, "status": status})

    # ------------------------------------------------------------------------------ pools

    def withdraw_pool(self, part: str) -> None:
        for name in self._slices_of(part):
            with apis.if_there():
                self._world.clients.delete(apis.SLICES, name)

    def renew_pool(self, part: str) -> None:
        """Publish a new generation of a pool, slice by slice, with as many other devices."""

        def renewed(spec: Object) -> Object:
            pool = {**spec["pool"], "generation": spec["pool"]["generation"] + 1}
            listed = [{**item, "name": f"new-{item['name']}"} for item in spec["devices"]]
            return {"pool": pool, "devices": listed}

        self._change_slices(part, renewed)

    def revise_devices(self, part: str) -> None:
        revision = {"gpu.example/revision": {"int": 1}}
        self._change_devices(
            part,
            lambda item: {**item, "attributes": {**item.get("attributes", {}), **revision}},
        )

    def share_devices(self, part: str) -> None:
        """Let the partitions of a pool be shared if they were not, and the other way round."""
        self._change_devices(
            part,
            lambda item: world_fixtures.with_slots(
                item, is_shared=not item.get("allowMultipleAllocations")
            ),
        )

    def taint_devices(self, part: str) -> None:
        taint = {"key": "broken", "effect": "NoExecute", "timeAdded": _BEGIN}
        self._change_devices(part, lambda item: {**item, "taints": [taint]})

    def drop_device(self, part: str) -> None:
        """Let the first device of a pool leave its slice."""
        self._change_slices(part, lambda spec: {"devices": (spec.get("devices") or [])[1:]})

    def add_rule(self, _: str) -> None:
        """Let a DeviceTaintRule come that taints all devices."""
        self._world.granted.taint_driver(world_fixtures.DRIVER)
        self._rules.append(_RULE)
        for tracker in tuple(self._trackers):
            tracker.rules.on_add(_RULE, initial=False)

    def _change_devices(self, part: str, change: Callable[[Object], Object]) -> None:
        self._change_slices(
            part, lambda spec: {"devices": [change(item) for item in spec.get("devices") or ()]}
        )

    def _change_slices(self, part: str, changed: Callable[[Object], Object]) -> None:
        """Change fields of the specs of a pool's slices; a slice keeps its last device."""

        def change(document: Object) -> Object:
            fields = {key: value for key, value in changed(document["spec"]).items() if value}
            return {**document, "spec": {**document["spec"], **fields}}

        for name in self._slices_of(part):
            self._change(apis.SLICES, name, change)

    def _slices_of(self, part: str) -> list[str]:
        [found] = [item for item in self._world.setting.parts if item.name == part]
        return [document["metadata"]["name"] for document in found.documents]

    # ----------------------------------------------------------------------------- actors

    def stop_controller(self, _: str) -> None:
        """Stop the claim controller, which finishes what it does; another one comes at rest."""
        if self._world.controller is not None:
            self._world.controller.stop()
            self._world.controller = None

    def fail_over(self, _: str) -> None:
        """Stop the scheduler, which goes on with what it has begun, and start another one."""
        self._world.schedulers[0].stop()
        self._world.moments.come("stopped")
        self._world.start_successor()

    def report_devices(self) -> None:
        """Report on each allocated device: the first are broken, the others ready."""
        for number in range(REPORTS_MAX):
            name = self._world.moments.allocations.get()
            is_broken = number < self._world.sizes.get("failures", 0)
            kind = world_fixtures.BROKEN if is_broken else world_fixtures.READY
            report = functools.partial(_reported, kind=kind)
            self._change(apis.CLAIMS, name, report, is_status=True)

    # --------------------------------------------------------------------------- requests

    def _get(self, resource: apis.Resource, name: str) -> Object:
        return self._world.clients.get(resource, name, namespace=world_fixtures.NAMESPACE)

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
        while True:
            try:
                found = self._world.clients.get(resource, name, namespace=namespace)
                update(resource, change(found))
            except apis.ApiError as error:
                if error.is_conflict:
                    continue
                if not error.is_not_found:
                    raise
            return


def _reported(claim: Object, kind: str) -> Object:
    condition = {
        "type": kind,
        "status": "True",
        "reason": "Reported",
        "message": "by the driver",
        "lastTransitionTime": world_fixtures.NOW,
    }
    listed = [
        {**{key: result[key] for key in ("driver", "pool", "device")}, "conditions": [condition]}
        for result in states.results(claim)
    ]
    return {**claim, "status": {**claim.get("status", {}), "devices": listed}}
