"""Pure functions on PodGroups, as decoded JSON: which claims of a pod are those of its group.

After BindTo and IsReservedForPod in k8s.io/dynamic-resource-allocation/resourceclaim. A pod uses a
claim of its group by an entry of its own that equals the group's: name, claim and template.
"""

from harness.model.objects import Object

API_GROUP, PLURAL, KIND = "scheduling.k8s.io", "podgroups", "PodGroup"
_COMPARED = ("name", "resourceClaimName", "resourceClaimTemplateName")


def name_of(pod: Object) -> str | None:
    name: str | None = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return name


def key_of(pod: Object) -> str | None:
    """Return `namespace/name` of the pod's group, None if it has none."""
    name = name_of(pod)
    return f"{pod['metadata']['namespace']}/{name}" if name else None


def is_group(obj: Object) -> bool:
    """Return whether a pod or PodGroup is a PodGroup; objects of lists do not say their kind."""
    return "schedulingPolicy" in obj["spec"]


def has_entry(group: Object | None, entry: Object) -> bool:
    entries = (group or {"spec": {}})["spec"].get("resourceClaims") or ()
    return any(all(entry.get(key) == own.get(key) for key in _COMPARED) for own in entries)


def controls(claim: Object, pod: Object) -> bool:
    """Return whether the pod's group controls the claim; a pod knows only its name."""
    name = name_of(pod)
    return name is not None and any(
        owner.get("controller")
        and owner.get("kind") == KIND
        and owner["apiVersion"].startswith(f"{API_GROUP}/")
        and owner["name"] == name
        for owner in claim["metadata"].get("ownerReferences", ())
    )


def is_reservation(entry: Object) -> bool:
    return entry.get("apiGroup") == API_GROUP and entry.get("resource") == PLURAL
