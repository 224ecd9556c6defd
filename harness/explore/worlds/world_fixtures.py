"""Objects of worlds: nodes, devices, claims, templates and pods.

The initial objects of a world are the same for every run, so they are created once.
"""

import contextlib
import functools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import feature_gates, resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.model.objects import Object

NOW = "2026-01-01T00:00:00Z"
NAMESPACE = "default"
SCHEDULER, OTHER_SCHEDULER = "flake-hunt", "other-scheduler"
DRIVER = "gpu.example"
DEVICE_CLASS = "gpu"
RESOURCE = f"deviceclass.resource.kubernetes.io/{DEVICE_CLASS}"
"""The extended resource that the class of all devices backs."""
NODE = "worker-0"
FINALIZER = "resource.kubernetes.io/delete-protection"
TEMPLATE = "template"
READY, BROKEN = "gpu.example/ready", "gpu.example/broken"
CONDITIONS = {"bindingConditions": [READY], "bindingFailureConditions": [BROKEN]}
"""The conditions of devices whose driver reports whether they are ready."""
FOREIGN_CONSUMER = {
    "apiGroup": "batch.example",
    "resource": "jobs",
    "name": "job-1",
    "uid": "00000000-0000-4000-8000-000000000001",
}
GONE_POD = {"resource": "pods", "name": "gone", "uid": "00000000-0000-4000-8000-000000000002"}
_POLICY = {"default": "500m", "validRange": {"min": "500m", "max": "2", "step": "250m"}}
_RESOURCES = {
    "Namespace": resources.NAMESPACES,
    "Node": resources.NODES,
    "Pod": resources.PODS,
    "DeviceClass": resources.DEVICE_CLASSES,
    "ResourceSlice": resources.SLICES,
    "ResourceClaim": resources.CLAIMS,
    "ResourceClaimTemplate": resources.CLAIM_TEMPLATES,
}


def resource_of(document: Object) -> resources.ResourceType:
    return _RESOURCES[document["kind"]]


def past(objects: Sequence[Object]) -> watch_cache.Past:
    """Return the past on which stores are based; objects keep their uids and versions.

    They are created in this order.
    """
    return _past(msgspec.json.encode(objects))


@functools.lru_cache(maxsize=64)
def _past(objects: bytes) -> watch_cache.Past:
    store = stores.Store(now=lambda: NOW, stream=random.Random(1), track_managers=False)
    with _list_attributes():
        for document in msgspec.json.decode(objects):
            create(store, document)
    return store.as_past()


@contextlib.contextmanager
def _list_attributes() -> Iterator[None]:
    """Let slices have attributes that are lists, as with the gate of the API server."""
    was_on = feature_gates.is_on(feature_gates.LIST_ATTRIBUTES)
    feature_gates.choose({feature_gates.LIST_ATTRIBUTES: True})
    try:
        yield
    finally:
        feature_gates.choose({feature_gates.LIST_ATTRIBUTES: was_on})


def create(store: stores.Store, document: Object) -> None:
    """Create an object, unless it is there; if it has a status, write that, too."""
    resource, status = resource_of(document), document.pop("status", None)
    namespace = NAMESPACE if resource.namespaced else ""
    if resource is resources.NAMESPACES:  # it is there already
        labels = {"labels": document["metadata"]["labels"]}
        store.patch(
            resource, "", NAMESPACE, lambda it: {**it, "metadata": {**it["metadata"], **labels}}
        )
        return
    name = document["metadata"]["name"]
    if not store.has(resource, namespace, name):
        store.create(resource, namespace, document)
    if status is not None:
        changed = {**store.get(resource, namespace, name).document(), "status": status}
        store.update(resource, namespace, name, changed, subresource="status")


# ------------------------------------------------------------------------- nodes and devices


def _object(resource: apis.Resource, metadata: Object, spec: Object | None = None) -> Object:
    made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return made if spec is None else {**made, "spec": spec}


def node(name: str = NODE) -> Object:
    """Return a node with a label `node`, its name."""
    fake = {"kwok.x-k8s.io/node": "fake"}  # the kubelets act for fake nodes only
    return _object(apis.NODES, {"name": name, "annotations": fake, "labels": {"node": name}})


def namespace(*, is_admin: bool) -> Object:
    """Return the namespace of all claims; only with `is_admin` may results have admin access."""
    labels = {"resource.kubernetes.io/admin-access": "true"} if is_admin else {}
    return _object(apis.NAMESPACES, {"name": NAMESPACE, "labels": labels})


def device_class() -> Object:
    return _object(apis.DEVICE_CLASSES, {"name": DEVICE_CLASS}, {})


def pool(
    devices: Sequence[Object], *, name: str = NODE, slice_name: str | None = None, **spec: Any
) -> Object:
    """Return the slice of a pool that consists of one slice; `spec` adds to it or replaces.

    The devices belong to the node with the pool's name. A field that is None is left out.
    `slice_name` None: that is the slice's name, too.
    """
    fields = {
        "driver": DRIVER,
        "nodeName": name,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": list(devices),
        **spec,
    }
    kept = {key: value for key, value in fields.items() if value is not None}
    return _object(apis.SLICES, {"name": slice_name or name}, kept)


def counted_pool(
    devices: Sequence[Object],
    counters: Sequence[Object],
    *,
    name: str = NODE,
    driver: str = DRIVER,
    **spec: Any,
) -> list[Object]:
    """Return the slices of a pool: one with sets of counters, and one with devices."""
    whole = {"name": name, "generation": 1, "resourceSliceCount": 2}
    both = {"name": name, "driver": driver, "pool": whole, **spec}
    first = pool([], slice_name=f"{name}-counters.{driver}", sharedCounters=list(counters), **both)
    del first["spec"]["devices"]
    return [first, pool(devices, slice_name=f"{name}-devices.{driver}", **both)]


def devices(count: int) -> list[Object]:
    """Return devices that differ in nothing but their names."""
    return [{"name": f"device-{index}"} for index in range(count)]


def with_slots(device: Object, *, is_shared: bool) -> Object:
    """Return a partition with the capacity that it has if it can be shared, and if it cannot."""
    slots: Object = {"value": "2", **({"requestPolicy": _POLICY} if is_shared else {})}
    return {**device, "allowMultipleAllocations": is_shared, "capacity": {"slots": slots}}


# --------------------------------------------------------------------------- claims and pods


def claim(name: str, **exactly: Any) -> Object:
    """Return a claim for one device; `exactly` adds to its request."""
    return _object(apis.CLAIMS, {"name": name}, _claim_spec(exactly))


def allocated(device: str, reserved: Sequence[Object] = (), *, node_name: str = NODE) -> Object:
    """Return the status of a claim that has a device of a node, with these reservations."""
    result = {"request": "device", "driver": DRIVER, "pool": node_name, "device": device}
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    return {
        "allocation": {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        },
        "reservedFor": list(reserved),
    }


def template() -> Object:
    return _object(apis.CLAIM_TEMPLATES, {"name": TEMPLATE}, {"spec": _claim_spec({})})


def _claim_spec(exactly: Object) -> Object:
    request = {"name": "device", "exactly": {"deviceClassName": DEVICE_CLASS, **exactly}}
    return {"devices": {"requests": [request]}}


def pod(name: str, *claims: str, scheduler: str = SCHEDULER, **spec: Any) -> Object:
    """Return a pod that uses these claims; `spec` adds to its spec.

    Without a claim it asks for a device by the extended resource.
    """
    entries = [
        {"name": "device" if not index else f"device-{index + 1}", "resourceClaimName": claim}
        for index, claim in enumerate(claims)
    ]
    made = _pod(name, entries, scheduler, spec)
    if not claims:
        del made["spec"]["resourceClaims"]
        made["spec"]["containers"][0]["resources"] = {"limits": {RESOURCE: "1"}}
    return made


def pod_of_template(name: str, *, entries: Sequence[str] = ("device",)) -> Object:
    """Return a pod with a claim from the template for each entry."""
    listed = [{"name": entry, "resourceClaimTemplateName": TEMPLATE} for entry in entries]
    return _pod(name, listed, SCHEDULER, {})


def _pod(name: str, entries: list[Object], scheduler: str, spec: Object) -> Object:
    made = {
        "schedulerName": scheduler,
        "containers": [{"name": "work", "image": "none"}],
        "resourceClaims": entries,
        **spec,
    }
    return _object(apis.PODS, {"name": name}, made)


def finished(pod: Object) -> Object:
    """Return the pod as its kubelet reports it when its containers have ended well."""
    return {**pod, "status": {**pod.get("status", {}), "phase": "Succeeded"}}
