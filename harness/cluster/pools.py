"""The fake world of a run: its namespace, its nodes, its device class, and the device pools as ResourceSlices.

Everything carries the run's id as a label, and `remove` undoes exactly what `publish` did.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from harness import clocks, errors
from harness.client import apis
from harness.model import naming
from harness.scenario import specs

Object = apis.Object
RUN_LABEL = "flake-hunt/run"
DEVICES_PER_SLICE_MAX = 128
REMOVE_TIMEOUT_S = 20.0
_READY = [
    {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "a fake kubelet is ready",
    },
    {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
    {"type": "DiskPressure", "status": "False", "reason": "KubeletHasNoDiskPressure"},
    {"type": "PIDPressure", "status": "False", "reason": "KubeletHasSufficientPID"},
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What was published."""

    namespace: str
    run_id: str
    nodes: tuple[str, ...]
    slices: tuple[str, ...]
    device_class: str


def publish(
    api: apis.Api, pools: specs.PoolsSpec, *, namespace: str, run_id: str, admin: bool = False
) -> World:
    """Create everything; ClusterError when something of the name is there already."""
    labels = {RUN_LABEL: run_id}
    marks = {"resource.kubernetes.io/admin-access": "true"} if admin else {}
    _create(api, apis.NAMESPACES, {"metadata": {"name": namespace, "labels": labels | marks}})
    _create(api, apis.DEVICE_CLASSES, device_class(pools, labels=labels))
    nodes = tuple(naming.node(index) for index in range(pools.nodes))
    slices: list[str] = []
    for node in nodes:
        _create(api, apis.NODES, node_object(node, labels=labels))
        items = slice_objects(pools, node, labels=labels)
        slices.extend(_create(api, apis.SLICES, item)["metadata"]["name"] for item in items)
    return World(
        namespace=namespace,
        run_id=run_id,
        nodes=nodes,
        slices=tuple(slices),
        device_class=pools.device_class.name,
    )


def remove(api: apis.Api, world: World) -> None:
    """Delete everything, and wait until the namespace is gone."""
    for claim in api.list(apis.CLAIMS, namespace=world.namespace).items:
        _drop_finalizers(api, claim)  # whoever cares for them has been stopped
    for pod in api.list(apis.PODS, namespace=world.namespace).items:
        _delete(api, apis.PODS, pod["metadata"]["name"], world.namespace, grace_period_s=0)
    for name in world.slices:
        _delete(api, apis.SLICES, name)
    for name in world.nodes:
        _delete(api, apis.NODES, name)
    _delete(api, apis.DEVICE_CLASSES, world.device_class)
    _delete(api, apis.NAMESPACES, world.namespace)
    clocks.wait_until(
        lambda: _is_gone(api, world.namespace),
        timeout_s=REMOVE_TIMEOUT_S,
        why=f"namespace {world.namespace} to be gone",
    )


def device_class(pools: specs.PoolsSpec, *, labels: dict[str, str]) -> Object:
    """The class: the driver's devices, narrowed by the scenario's selectors."""
    expressions = [f'device.driver == "{pools.driver}"', *pools.device_class.selectors]
    return {
        "apiVersion": apis.DEVICE_CLASSES.api_version,
        "kind": "DeviceClass",
        "metadata": {"name": pools.device_class.name, "labels": labels},
        "spec": {"selectors": [{"cel": {"expression": text}} for text in expressions]},
    }


def node_object(name: str, *, labels: dict[str, str]) -> Object:
    """A Node that is Ready; its annotation says to others that nobody runs there."""
    amounts = {"cpu": "100", "memory": "1000Gi", "pods": "5000"}
    now = clocks.wall_text()
    conditions = [{**item, "lastHeartbeatTime": now, "lastTransitionTime": now} for item in _READY]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **labels},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": conditions,
            "nodeInfo": {"kubeletVersion": "fake"},
        },
    }


def slice_objects(pools: specs.PoolsSpec, node: str, *, labels: dict[str, str]) -> Iterator[Object]:
    """The pool of a node, in slices of at most 128 devices."""
    devices = [_device(pools, node, index) for index in range(pools.devices_per_node)]
    parts = [
        devices[start : start + DEVICES_PER_SLICE_MAX]
        for start in range(0, len(devices), DEVICES_PER_SLICE_MAX)
    ]
    for number, part in enumerate(parts):
        yield {
            "apiVersion": apis.SLICES.api_version,
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{pools.driver}-{number}", "labels": labels},
            "spec": {
                "driver": pools.driver,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": len(parts)},
                "devices": part,
            },
        }


def _device(pools: specs.PoolsSpec, node: str, index: int) -> Object:
    device: Object = {
        "name": naming.device(node, index),
        "attributes": {
            **{name: _attribute(value) for name, value in pools.attributes.items()},
            "index": {"int": index},
        },
    }
    if pools.capacity:
        device["capacity"] = {name: {"value": value} for name, value in pools.capacity.items()}
    return device


def _attribute(value: specs.AttributeValue) -> dict[str, Any]:
    kind = {bool: "bool", int: "int", str: "string"}[type(value)]
    return {kind: value}


def _create(api: apis.Api, resource: apis.Resource, obj: Object) -> Object:
    try:
        return api.create(resource, obj)
    except apis.ApiError as error:
        if not error.is_already_exists:
            raise
        raise errors.ClusterError(
            f"expected no {resource.kind} {obj['metadata']['name']!r} on the cluster, but there is one: "
            "another run uses this cluster, or one was cut off; remove it or use another cluster"
        ) from error


def _delete(
    api: apis.Api,
    resource: apis.Resource,
    name: str,
    namespace: str | None = None,
    *,
    grace_period_s: int | None = None,
) -> None:
    try:
        api.delete(resource, name, namespace=namespace, grace_period_s=grace_period_s)
    except apis.ApiError as error:
        if not error.is_not_found:
            raise


def _drop_finalizers(api: apis.Api, claim: Object) -> None:
    meta = claim["metadata"]
    if not meta.get("finalizers"):
        return
    try:
        api.patch(
            apis.CLAIMS,
            meta["name"],
            {"metadata": {"finalizers": None}},
            namespace=meta["namespace"],
        )
    except apis.ApiError as error:
        if not error.is_not_found:
            raise


def _is_gone(api: apis.Api, namespace: str) -> bool:
    try:
        api.get(apis.NAMESPACES, namespace)
    except apis.ApiError as error:
        return error.is_not_found
    return False
