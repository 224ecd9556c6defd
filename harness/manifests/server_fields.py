"""Drops the fields of an object that an API server, kubectl or a controller has written."""

from harness.model.objects import Object

_METADATA = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
_ANNOTATIONS = (
    "deployment.kubernetes.io/revision",
    "kubectl.kubernetes.io/last-applied-configuration",
)
_OF_NODES = ("allocatable", "capacity")
"""Fields of the status of a Node that stay: pods are placed by them."""


def dropped(obj: Object, *, keeps_owners: bool = False) -> Object:
    """Return the object without them, in a copy of its outer parts.

    A name that the server has generated stays, and `generateName` goes. `metadata` is there.
    `keeps_owners`: `ownerReferences` stay.
    """
    kept = {key: value for key, value in obj.items() if key != "status"}
    kept["metadata"] = _metadata(obj.get("metadata") or {})
    owners = (obj.get("metadata") or {}).get("ownerReferences")
    if keeps_owners and isinstance(owners, list):
        kept["metadata"]["ownerReferences"] = [one for one in owners if isinstance(one, dict)]
    status = obj.get("status")
    if obj.get("kind") == "Node" and isinstance(status, dict):
        kept["status"] = {key: status[key] for key in _OF_NODES if key in status}
    return kept


def _metadata(found: Object) -> Object:
    kept = {key: value for key, value in found.items() if key not in _METADATA}
    if kept.get("name"):
        kept.pop("generateName", None)
    marks = kept.get("annotations")
    if isinstance(marks, dict):
        kept["annotations"] = {key: text for key, text in marks.items() if key not in _ANNOTATIONS}
    return {key: value for key, value in kept.items() if value not in ({}, None)}
