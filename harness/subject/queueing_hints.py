"""Queueing hints: the events of an informer after which pods may be schedulable.

After EventsToRegister and the hints of
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go. An event that cannot change
the outcome of an attempt, such as a node's heartbeat, moves no pod.
"""

from typing import Any, Protocol

from harness.client import informers
from harness.subject import claims

Object = dict[str, Any]


class Hinted(Protocol):
    """The part of the scheduler that handles events."""

    def on_pod(self, pod: Object) -> None:
        """Handle a new or changed pod."""

    def on_pod_gone(self, pod: Object) -> None:
        """Handle a deleted pod."""

    def on_claim(self, key: str, *, freed: bool) -> None:
        """Retry the pods that use a changed claim; `freed`: all pods, as devices became free."""

    def on_cluster_change(self) -> None:
        """Retry all pods after a change of nodes, DeviceClasses or slices."""


class PodEvents:
    """Queues and removes pods."""

    def __init__(self, scheduler: Hinted) -> None:
        self._scheduler = scheduler

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Queue a pod."""
        del initial
        self._scheduler.on_pod(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """Queue a pod, or remove it if it needs no scheduling any more."""
        del old
        self._scheduler.on_pod(new)

    def on_delete(self, last: Object) -> None:
        """Remove a pod."""
        self._scheduler.on_pod_gone(last)


class ClaimEvents:
    """Queueing hints for claims: a change may let pods be scheduled that use the claim."""

    def __init__(self, scheduler: Hinted) -> None:
        self._scheduler = scheduler

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Retry the pods that wait for the claim."""
        del initial
        self._scheduler.on_claim(informers.key_of(obj), freed=False)

    def on_update(self, old: Object, new: Object) -> None:
        """Retry the pods of the claim, or all pods if it has given back its devices."""
        if old.get("status") == new.get("status"):
            return  # only metadata changed, such as the finalizer
        freed = claims.allocation_of(old) is not None and claims.allocation_of(new) is None
        self._scheduler.on_claim(informers.key_of(new), freed=freed)

    def on_delete(self, last: Object) -> None:
        """Retry all pods if the claim has given back devices."""
        freed = claims.allocation_of(last) is not None
        self._scheduler.on_claim(informers.key_of(last), freed=freed)


class NodeEvents:
    """Queueing hints for nodes, DeviceClasses and slices: a change may affect every pod."""

    def __init__(self, scheduler: Hinted) -> None:
        self._scheduler = scheduler

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Retry all pods."""
        del obj, initial
        self._scheduler.on_cluster_change()

    def on_update(self, old: Object, new: Object) -> None:
        """Retry all pods, unless the update is only a heartbeat."""
        without_version = [
            {
                **item,
                "status": None,
                "metadata": {**item["metadata"], "resourceVersion": "", "managedFields": None},
            }
            for item in (old, new)
        ]
        if without_version[0] != without_version[1]:
            self._scheduler.on_cluster_change()

    def on_delete(self, last: Object) -> None:
        """Retry all pods."""
        del last
        self._scheduler.on_cluster_change()
