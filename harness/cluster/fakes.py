"""The objects of the fake world: nodes that are Ready though nobody runs there, and the device pools as ResourceSlices. Pure functions."""

from collections.abc import Iterator, Sequence
from typing import Any

from harness import clocks
from harness.client import apis
from harness.model import naming
from harness.scenario import specs

Object = apis.Object
RUN_LABEL = naming.RUN_LABEL
DEVICES_PER_SLICE_MAX = 128
OWNER = "owner"
"""The attribute that tells the devices of a run from those of other runs of the same driver."""
_CLASS_NAME_MAX = 40
_NODE_PREFIX_MAX = 48
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


def own(pools: specs.PoolsSpec, run_id: str) -> specs.PoolsSpec:
    """The pools of a run on a cluster that others use: what is cluster-wide carries the run's id."""
    name = f"{pools.device_class.name[:_CLASS_NAME_MAX].rstrip('-')}-{run_id}"
    changed = {
        "node_prefix": f"flake-hunt-{run_id}-{pools.node_prefix}"[:_NODE_PREFIX_MAX],
        "owner": run_id,
        "device_class": pools.device_class.model_copy(update={"name": name}),
    }
    return pools.model_copy(update=changed)


def device_class(pools: specs.PoolsSpec, *, labels: dict[str, str]) -> Object:
    """The class: the driver's devices, narrowed to the run's own where others use the cluster, and by the scenario's selectors."""
    expressions = [f'device.driver == "{pools.driver}"']
    if pools.owner:
        attributes = f'device.attributes["{pools.driver}"]'
        expressions.append(f'"{OWNER}" in {attributes} && {attributes}.{OWNER} == "{pools.owner}"')
    expressions += pools.device_class.selectors
    return {
        "apiVersion": apis.DEVICE_CLASSES.api_version,
        "kind": "DeviceClass",
        "metadata": {"name": pools.device_class.name, "labels": labels},
        "spec": {"selectors": [{"cel": {"expression": text}} for text in expressions]},
    }


def node_object(name: str, *, labels: dict[str, str], taints: Sequence[Object] = ()) -> Object:
    """A Node that is Ready; its annotation says to others that nobody runs there.

    It has no label `kubernetes.io/os`, which the DaemonSets of real clusters select by.
    """
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
        "spec": {"taints": list(taints)} if taints else {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": conditions,
            "nodeInfo": {"kubeletVersion": "fake"},
        },
    }


def taint(run_id: str) -> Object:
    """Keeps everybody's pods but the run's own away from its nodes."""
    return {"key": RUN_LABEL, "value": run_id, "effect": "NoSchedule"}


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
            **({OWNER: _attribute(pools.owner)} if pools.owner else {}),
            "index": {"int": index},
        },
    }
    if pools.capacity:
        device["capacity"] = {name: {"value": value} for name, value in pools.capacity.items()}
    return device


def _attribute(value: specs.AttributeValue) -> dict[str, Any]:
    kind = {bool: "bool", int: "int", str: "string"}[type(value)]
    return {kind: value}
