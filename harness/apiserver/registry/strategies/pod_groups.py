"""PodGroups, and what keeps one of them while its pods may run.

After pkg/registry/scheduling/podgroup/strategy.go, and after the controller in
pkg/controller/scheduling/podgroupprotection, whose work is done here.
"""

from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import feature_gates, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import object_tables, stored_objects, watch_cache

PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""Finalizer of every PodGroup."""
_OF_OTHER_GATES = ("schedulingConstraints", "priorityClassName", "priority")
"""Fields of TopologyAwareWorkloadScheduling and WorkloadAwarePreemption, which are off."""
_ENDED = ("Succeeded", "Failed")


class PodGroupStrategy(generic.Strategy):
    """PodGroups."""

    metadata_kept_by_status = generic.USER_METADATA
    reset_by_status = ("metadata",)

    def prepare_for_create(self, document: Document, *, now: str) -> None:
        """Add the finalizer, as the admission plugin PodGroupProtection does."""
        super().prepare_for_create(document, now=now)
        finalizers = document["metadata"].get("finalizers") or []
        if PROTECTION not in finalizers and feature_gates.is_on(feature_gates.POD_GROUPS):
            document["metadata"]["finalizers"] = [*finalizers, PROTECTION]

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop the fields of other gates, and the claims unless their gate is on."""
        for key in _OF_OTHER_GATES:
            generic.drop_new(document, old, "spec", key)
        if not feature_gates.is_on(feature_gates.GROUP_CLAIMS):
            generic.drop_new(document, old, "spec", "resourceClaims")


class GroupProtection:
    """Finds the deleted PodGroups that no pod uses any more."""

    def __init__(self, objects: object_tables.Objects) -> None:
        self._objects = objects
        objects.listen(self._see)

    def _see(self, commit: watch_cache.Commit) -> None:
        """Queue a group as garbage when it is deleted, and when a pod of a deleted one ends."""
        if commit.resource is resources.POD_GROUPS:
            name = commit.object.name if commit.object.deleting else ""
        elif commit.resource is resources.PODS and self._objects.tables()[resources.POD_GROUPS]:
            name = _group_of(commit.object.document())
        else:
            return
        group = self._objects.find(resources.POD_GROUPS, commit.object.namespace, name)
        if group is not None and group.deleting:
            self._objects.garbage.append((resources.POD_GROUPS, (group.namespace, group.name)))

    def without_protection(self, group: stored_objects.Stored) -> Document | None:
        """Return a deleted group without its finalizer; None: it has none, or a pod may run."""
        document = group.document()
        finalizers = document["metadata"].get("finalizers") or []
        if PROTECTION not in finalizers or self._is_used(group):
            return None
        left = [item for item in finalizers if item != PROTECTION]
        generic.set_or_drop(document["metadata"], "finalizers", left)
        return document

    def _is_used(self, group: stored_objects.Stored) -> bool:
        named = f'"podGroupName":"{group.name}"'.encode()
        return any(
            pod.namespace == group.namespace and named in pod.data and _may_run(pod.document())
            for pod in self._objects.tables()[resources.PODS].values()
        )


def _group_of(pod: Document) -> str:
    """Return the name of the pod's group; empty if it has none."""
    name: str = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName") or ""
    return name


def _may_run(pod: Document) -> bool:
    return (pod.get("status") or {}).get("phase") not in _ENDED
