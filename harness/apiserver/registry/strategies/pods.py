"""Pods: their status, grace periods and conditions.

The `binding` subresource is in `registry.pod_binding`. After
k8s.io/kubernetes/pkg/registry/core/pod/strategy.go.
"""

from typing import Any

from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import qos
from harness.apiserver.scheme.json_document import Document

DEFAULT_GRACE_S = 30
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


class PodStrategy(generic.Strategy):
    """Pods."""

    metadata_kept_by_status = ("ownerReferences",)
    reset_by_status = ("metadata.deletionTimestamp", "metadata.ownerReferences")

    def prepare_for_create(self, document: Document, *, now: str) -> None:
        """Begin in phase Pending; a pod with scheduling gates has a condition that says so."""
        super().prepare_for_create(document, now=now)
        if document["spec"].get("schedulingGates"):
            set_condition(document, _GATED, now=now)

    def new_status(self, document: Document) -> Document:
        """Return phase and quality-of-service class."""
        return {"phase": "Pending", "qosClass": qos.of(document["spec"])}

    def keep_unwritable(self, document: Document, old: Document, subresource: str) -> None:
        """Keep the quality-of-service class if a new status omits it."""
        super().keep_unwritable(document, old, subresource)
        if subresource == "status":
            _keep_qos_class(document, old)

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop fields of the gates GenericWorkload and DRANodeAllocatableResources."""
        generic.drop_new(document, old, "spec", "schedulingGroup")
        generic.drop_new(document, old, "status", "nodeAllocatableResourceClaimStatuses")


def _keep_qos_class(pod: Document, old: Document) -> None:
    """Keep the class if the new status omits it, in place: older clients do not know the field."""
    status = pod.get("status") or {}
    known = (old.get("status") or {}).get("qosClass")
    if known and not status.get("qosClass"):
        pod["status"] = status | {"qosClass": known}


def grace_seconds(pod: Document, requested_s: int | None) -> int:
    """Return the grace period of a deletion, in seconds; 0 for a pod that does not run."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if requested_s is not None:
        return requested_s
    default_s = spec.get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE_S if default_s is None else int(default_s)


# ------------------------------------------------------------------ conditions


def set_condition(pod: Document, condition: Document, *, now: str) -> None:
    """Add a condition, or replace the one of its type, in place.

    `lastTransitionTime` changes only if the condition's status does.
    """
    conditions: list[Document] = pod.setdefault("status", {}).setdefault("conditions", [])
    for position, known in enumerate(conditions):
        if known.get("type") == condition["type"]:
            since = known.get("lastTransitionTime")
            is_same_status = known.get("status") == condition["status"]
            conditions[position] = _dated(condition, since if is_same_status else now)
            return
    conditions.append(_dated(condition, now))


def _dated(condition: Document, since: Any) -> Document:
    return {**condition, "lastProbeTime": None, "lastTransitionTime": since}
