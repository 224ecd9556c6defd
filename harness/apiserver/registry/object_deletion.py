"""Deletion: grace periods, finalizers, dependents of deleted owners, contents of namespaces.

The work of Kubernetes' garbage collector, of the namespace controller and of the controller that
protects PodGroups is done here too, in steps of one object each. After
k8s.io/apiserver/pkg/registry/rest/delete.go.
"""

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

from harness.apiserver.json_codec import Document
from harness.apiserver.registry import preconditions
from harness.apiserver.registry.strategies import generic, pods, small_kinds
from harness.apiserver.scheme import resources, timestamps
from harness.apiserver.storage import object_tables, stored_objects, watch_cache

_EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """The options of a DELETE request (`DeleteOptions`); dependents go in the background."""

    grace_period_s: int | None = None
    """Grace period in seconds; None for the object's default."""
    preconditions: Document = dataclasses.field(default_factory=dict)
    """`uid` and `resourceVersion` that the object must have; either may be absent."""
    dry_run: bool = False
    overlooks_finalizers: bool = False
    """True: remove the object at once, as if it had been read before it got its finalizers."""


AS_USUAL = DeleteOptions()


class DeletedObjects(object_tables.Objects):
    """The objects of a store, with their deletion and the collection of garbage."""

    def __init__(self, *, now: Callable[[], str], empties_namespaces: bool, **tables: Any) -> None:
        """`empties_namespaces`: do the work of the namespace controller, too."""
        super().__init__(**tables)
        self._now = now
        self._empties_namespaces = empties_namespaces
        self.listen(self._see_groups)
        self._aged: collections.deque[object_tables.Place] = collections.deque()
        """Garbage that is due for collection."""

    def delete_object(
        self, resource: resources.ResourceType, old: stored_objects.Stored, options: DeleteOptions
    ) -> tuple[stored_objects.Stored, bool]:
        """Start or finish the deletion of an object.

        Returns (its last state, whether it is gone).
        """
        expected = options.preconditions
        preconditions.require_current(resource, old, expected, kind=resource.kind)
        if options.overlooks_finalizers and not options.dry_run:
            return self.remove(resource, old), True
        if resource is resources.NAMESPACES:
            return self._delete_namespace(old, options), False
        document = old.document()
        meta = document["metadata"]
        before = dict(meta)
        if resource is resources.PODS and not self._begin_gracefully(document, options):
            return old, False
        if meta.get("finalizers") and resource is not resources.PODS:
            if "deletionTimestamp" not in meta:
                _count_generation(meta)
                meta["deletionTimestamp"] = self._now()
            meta["deletionGracePeriodSeconds"] = 0
        gone = not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds")
        if meta != before:
            old = self.put(resource, old, document, dry_run=options.dry_run)
        if gone and not options.dry_run:
            old = self.remove(resource, old)
        return old, gone

    def evict_pod(self, old: stored_objects.Stored, options: DeleteOptions) -> None:
        """Set the condition `DisruptionTarget` of a pod and delete it."""
        preconditions.require_current(resources.PODS, old, options.preconditions, kind="Pod")
        if not options.dry_run:
            document = old.document()
            pods.set_condition(document, _EVICTED, now=self._now())
            if document != old.document():
                old = self.put(resources.PODS, old, document)
        self.delete_object(resources.PODS, old, dataclasses.replace(options, preconditions={}))

    def _begin_gracefully(self, pod: Document, options: DeleteOptions) -> bool:
        """Set the deletion timestamp and grace period of a pod, in place.

        Returns False if the pod is already being deleted with a grace period that is not longer.
        """
        meta = pod["metadata"]
        if "deletionTimestamp" in meta:
            return _shorten(meta, options.grace_period_s)
        grace_s = pods.grace_seconds(pod, options.grace_period_s)
        _count_generation(meta)
        meta["deletionTimestamp"] = timestamps.later(self._now(), grace_s)
        meta["deletionGracePeriodSeconds"] = grace_s
        return True

    def _delete_namespace(
        self, old: stored_objects.Stored, options: DeleteOptions
    ) -> stored_objects.Stored:
        if old.deleting:
            return old
        document = old.document()
        document["metadata"]["deletionTimestamp"] = self._now()
        document["status"] = {**(document.get("status") or {}), "phase": "Terminating"}
        if self._empties_namespaces and not options.dry_run:
            self.garbage.append((resources.NAMESPACES, ("", old.name)))
        return self.put(resources.NAMESPACES, old, document, dry_run=options.dry_run)

    # -------------------------------------------------------------- garbage

    def age_garbage(self) -> bool:
        """Make the present garbage due for collection; return False if nothing is due."""
        self._aged += self.garbage
        self.garbage.clear()
        return bool(self._aged)

    def collect_garbage(self) -> None:
        """Process all garbage, including what this makes garbage."""
        while self.age_garbage():
            while self.collect_garbage_step():
                pass

    def collect_garbage_step(self) -> bool:
        """Process one object that is due.

        Objects that become garbage in this step are due as well. Returns False if there was nothing
        to do.
        """
        fresh = self.garbage
        while self._aged:
            place, known = self._aged.popleft(), len(fresh)
            worked = self._collect(*place)
            self._aged += [fresh.pop() for _ in range(len(fresh) - known)][::-1]
            if worked:
                return True
        return False

    def _collect(self, resource: resources.ResourceType, key: object_tables.Key) -> bool:
        stored = self.find(resource, *key)
        if stored is None:
            return False
        if resource is resources.NAMESPACES:
            return self._empties_namespaces and stored.deleting and self._end_namespace(stored)
        is_emptied = self._empties_namespaces and self.is_terminating(stored.namespace)
        if is_emptied and self._delete_content(resource, stored):
            return True
        if stored.deleting:
            return resource is resources.POD_GROUPS and self._release_group(stored)
        if not stored.owners or self._uids & {*stored.owners} or _has_foreign_owner(stored):
            return False
        self.delete_object(resource, stored, AS_USUAL)
        return True

    def _see_groups(self, commit: watch_cache.Commit) -> None:
        """Queue a PodGroup when it is deleted, and when a pod of a deleted one ends."""
        if commit.resource is resources.POD_GROUPS:
            name = commit.object.name if commit.object.deleting else ""
        elif commit.resource is resources.PODS and self.all_of(resources.POD_GROUPS):
            spec = commit.object.document()["spec"]
            name = (spec.get("schedulingGroup") or {}).get("podGroupName") or ""
        else:
            return
        group = self.find(resources.POD_GROUPS, commit.object.namespace, name)
        if group is not None and group.deleting:
            self.garbage.append((resources.POD_GROUPS, (group.namespace, group.name)))

    def _release_group(self, group: stored_objects.Stored) -> bool:
        """Take the finalizer from a PodGroup that no pod uses; return whether it had to go."""
        document = group.document()
        finalizers = document["metadata"].get("finalizers") or []
        if small_kinds.PROTECTION not in finalizers or self._is_used(group):
            return False
        left = [item for item in finalizers if item != small_kinds.PROTECTION]
        generic.set_or_drop(document["metadata"], "finalizers", left)
        if is_done(resources.POD_GROUPS, document):
            self.remove(resources.POD_GROUPS, group)
        else:
            self.put(resources.POD_GROUPS, group, document)
        return True

    def _is_used(self, group: stored_objects.Stored) -> bool:
        named = f'"podGroupName":"{group.name}"'.encode()
        return any(
            (pod.document().get("status") or {}).get("phase") not in ("Succeeded", "Failed")
            for pod in self.all_of(resources.PODS)
            if pod.namespace == group.namespace and named in pod.data
        )

    def _end_namespace(self, namespace: stored_objects.Stored) -> bool:
        """Remove an empty namespace, else queue its contents.

        The last object to go queues the namespace again.
        """
        if contents := self.contents(namespace.name):
            self.garbage.extend(contents)
            return False
        document = namespace.document()
        if not document["metadata"].get("finalizers"):
            self.remove(resources.NAMESPACES, namespace)
            return True
        if not (document.get("spec") or {}).pop("finalizers", None):
            return False  # removing the last finalizer removes the namespace
        self.put(resources.NAMESPACES, namespace, document)
        return True

    def _delete_content(
        self, resource: resources.ResourceType, stored: stored_objects.Stored
    ) -> bool:
        if stored.deleting and resource is not resources.PODS:
            return False
        last, _ = self.delete_object(resource, stored, DeleteOptions(grace_period_s=0))
        return last is not stored


def is_done(resource: resources.ResourceType, document: Document) -> bool:
    """Return whether nothing delays the removal of an object that is being deleted.

    A namespace waits for its contents.
    """
    meta = document["metadata"]
    waits = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    if resource is resources.NAMESPACES:
        waits = waits or (document.get("spec") or {}).get("finalizers")
    return not waits


def _shorten(meta: Document, grace_s: int | None) -> bool:
    """Shorten the grace period of a pod that is being deleted, in place.

    Return False if it stays.
    """
    known_s = meta.get("deletionGracePeriodSeconds")
    if not known_s:
        return True
    if grace_s is None or grace_s >= known_s:
        return False
    meta["deletionTimestamp"] = timestamps.later(meta["deletionTimestamp"], grace_s - known_s)
    meta["deletionGracePeriodSeconds"] = grace_s
    return True


def _count_generation(meta: Document) -> None:
    if meta.get("generation"):
        meta["generation"] += 1


def _has_foreign_owner(stored: stored_objects.Stored) -> bool:
    """Return whether an owner is of a group that is not served, and may be there."""
    versions = (one["apiVersion"] for one in stored.document()["metadata"]["ownerReferences"])
    return any("/" in one and one.partition("/")[0] not in resources.groups() for one in versions)
