"""Small API objects to test with."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.subject.objects import claims

Object = dict[str, Any]
DRIVER = "gpu.example.com"
CLASS = "gpu"


def result(device: str, *, pool: str = "worker-0", request: str = "r", **more: Any) -> Object:
    return {"request": request, "driver": DRIVER, "pool": pool, "device": device, **more}


def allocation(*devices: str, node: str = "worker-0") -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "devices": {"results": [result(device, pool=node) for device in devices]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def device_id(device: str, pool: str = "worker-0") -> str:
    """`driver/pool/device`"""
    return f"{DRIVER}/{pool}/{device}"


def exactly(name: str = "r", **more: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": CLASS, **more}}


def chosen(claim: Object) -> Object | None:
    """The allocation of a claim without its time."""
    made = claim.get("status", {}).get("allocation")
    return made and {key: value for key, value in made.items() if key != "allocationTimestamp"}


def claim(
    name: str,
    *,
    version: int | None = None,
    allocated: Object | None = None,
    requests: Sequence[Object] | None = None,
    constraints: Sequence[Object] = (),
    owner: Object | None = None,
    **meta: Any,
) -> Object:
    """A claim for one device; with a version, as if it came from the server."""
    devices: Object = {"requests": list(requests) if requests is not None else [exactly()]}
    if constraints:
        devices["constraints"] = list(constraints)
    made: Object = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", **meta},
        "spec": {"devices": devices},
    }
    if version is not None:
        made["metadata"] |= {"uid": meta.get("uid", f"uid-{name}"), "resourceVersion": str(version)}
    if owner is not None:
        made["metadata"]["ownerReferences"] = [owned_by(owner)]
    if allocated is not None:
        made["status"] = {"allocation": allocated}
    return made


def owned_by(pod: Object) -> Object:
    meta = pod["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }


def pod(
    name: str,
    *,
    use: Iterable[str] = (),
    templates: Iterable[str] = (),
    recorded: dict[str, str | None] | None = None,
    node: str | None = None,
    phase: str | None = None,
    **meta: Any,
) -> Object:
    """A pod that uses claims by name, and claims made from templates (entry and template have one
    name).
    """
    entries: list[Object] = [{"name": item, "resourceClaimName": item} for item in use]
    entries += [{"name": item, "resourceClaimTemplateName": item} for item in templates]
    spec: Object = {
        "schedulerName": "flake-hunt",
        "containers": [{"name": "main", "image": "none"}],
        "resourceClaims": entries,
    }
    if node is not None:
        spec["nodeName"] = node
    status: Object = {"phase": phase} if phase else {}
    if recorded is not None:
        status["resourceClaimStatuses"] = [
            {"name": entry} if made is None else {"name": entry, "resourceClaimName": made}
            for entry, made in recorded.items()
        ]
    made_pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **meta},
        "spec": spec,
    }
    return {**made_pod, "status": status} if status else made_pod


def known_pod(name: str, **more: Any) -> Object:
    """A pod as if it came from the server."""
    more = {"uid": f"uid-{name}", "resourceVersion": "1", **more}
    return pod(name, **more)


def node(name: str = "worker-0", **more: Any) -> Object:
    labels = more.pop("labels", {"kubernetes.io/hostname": name})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": more,
    }


def device_class(*selectors: str, name: str = CLASS) -> Object:
    """A device class; without selectors every device is of it."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": text}} for text in selectors]},
    }


def device(name: str, **attributes: str | int | bool) -> Object:
    kinds = {str: "string", int: "int", bool: "bool"}
    made: Object = {"name": name}
    if attributes:
        made["attributes"] = {key: {kinds[type(value)]: value} for key, value in attributes.items()}
    return made


def slice_of(
    *devices: Mapping[str, Any] | str,
    pool: str = "worker-0",
    name: str | None = None,
    generation: int = 1,
    count: int = 1,
    **place: Any,
) -> Object:
    """A slice; of the node that has the pool's name unless it says otherwise."""
    listed = [device(item) if isinstance(item, str) else item for item in devices]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"{pool}-{generation}"},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            **(place or {"nodeName": pool}),
            "devices": listed,
        },
    }


def template(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [exactly()]}}, **spec},
    }


def protected(claim_object: Object, *, reserved_for: Sequence[Object] = ()) -> Object:
    """An allocated claim as the scheduler leaves it: with the finalizer and reservations."""
    finalizers = {"finalizers": [claims.FINALIZER]}
    made = {**claim_object, "metadata": {**claim_object["metadata"], **finalizers}}
    for user in reserved_for:
        made = claims.with_reservation(made, user)
    return made


def scheduled_condition(pod: Object) -> Object:
    """Return what a pod's status says of its scheduling; empty if it says nothing."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return next((item for item in conditions if item["type"] == "PodScheduled"), {})
