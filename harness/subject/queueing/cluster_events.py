"""Cluster events: changes of objects after which pods may become schedulable.

After ClusterEvent in k8s.io/kube-scheduler/framework and NodeSchedulingPropertiesChange in
pkg/scheduler/framework/events.go. The names are upstream's: they are labels of a metric.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import claims

NODE, POD, CLAIM = "Node", "Pod", "resource.k8s.io/ResourceClaim"
SLICE, DEVICE_CLASS = "resource.k8s.io/ResourceSlice", "resource.k8s.io/DeviceClass"
POD_GROUP = "scheduling.k8s.io/PodGroup"
ADD, UPDATE, DELETE = "Add", "Update", "Delete"
ALLOCATABLE_CHANGED, LABELS_CHANGED = "UpdateNodeAllocatable", "UpdateNodeLabel"
TAINTS_CHANGED = "UpdateNodeTaint"
CLAIMS_RECORDED, TOLERATIONS_CHANGED = "UpdatePodGeneratedResourceClaim", "UpdatePodToleration"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClusterEvent:
    """A change of an object that may make pods schedulable."""

    resource: str
    """The kind of the object; empty for events that concern all pods."""
    action: str
    old: Object | None = None
    """The object before; None: it was added."""
    new: Object | None = None
    """The object after; None: it was deleted."""

    @property
    def label(self) -> str:
        return f"{self.resource}{self.action}"

    @property
    def subject(self) -> Object:
        """The newest known state of the object; an empty one for events about no object."""
        return self.new or self.old or {}

    @property
    def frees_devices(self) -> bool:
        """A claim has given back its devices."""
        if self.resource != CLAIM or self.old is None:
            return False
        return bool(claims.allocation_of(self.old)) and not (
            self.new and claims.allocation_of(self.new)
        )

    @property
    def is_for_users(self) -> bool:
        """The event is of a claim and can help only the pods that use it."""
        return self.resource == CLAIM and not self.frees_devices

    def concerns(self, pod: Object) -> bool:
        if not self.is_for_users:
            return True
        return informers.key_of(self.subject) in claims.known_claim_keys(pod)


UNSCHEDULABLE_TIMEOUT = ClusterEvent("", "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent("", "ForceActivate")
ASSIGNED_POD_DELETED = ClusterEvent("AssignedPod", DELETE)
"""A pod has ended, or its binding has failed: what it had or was to have is free."""


def of_node(old: Object, new: Object) -> Iterator[ClusterEvent]:
    """Yield an event for each property that scheduling depends on; a heartbeat yields none."""
    if _status(old, "allocatable") != _status(new, "allocatable"):
        yield ClusterEvent(NODE, ALLOCATABLE_CHANGED, old, new)
    if old["metadata"].get("labels") != new["metadata"].get("labels"):
        yield ClusterEvent(NODE, LABELS_CHANGED, old, new)
    if _keeps_away(old) != _keeps_away(new):
        yield ClusterEvent(NODE, TAINTS_CHANGED, old, new)


def of_pod(old: Object, new: Object) -> Iterator[ClusterEvent]:
    """Yield an event for each property of a waiting pod that changed and may help it."""
    if claims.recorded_names(old) != claims.recorded_names(new):
        yield ClusterEvent(POD, CLAIMS_RECORDED, old, new)
    if old["spec"].get("tolerations") != new["spec"].get("tolerations"):
        yield ClusterEvent(POD, TOLERATIONS_CHANGED, old, new)


def _status(node: Object, key: str) -> Any:
    return (node.get("status") or {}).get(key)


def _keeps_away(node: Object) -> Any:
    spec = node.get("spec") or {}
    return spec.get("taints") or [], bool(spec.get("unschedulable"))
