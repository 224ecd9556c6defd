"""The clusters of the scheduling benchmarks: nodes with ten devices each, and kinds of claims."""

from collections.abc import Iterable, Iterator
from typing import Any

Object = dict[str, Any]
DRIVER, CLASS, DEVICES = "gpu.example.com", "gpu", 10
_EXACTLY = {"deviceClassName": CLASS}
_CEL = {"cel": {"expression": f'device.attributes["{DRIVER}"].numa == 1'}}
CLAIMS: dict[str, Object] = {
    "": {"requests": [{"name": "r", "exactly": _EXACTLY}]},
    ", CEL": {"requests": [{"name": "r", "exactly": {**_EXACTLY, "selectors": [_CEL]}}]},
    ", matchAttribute": {
        "requests": [{"name": "r", "exactly": {**_EXACTLY, "count": 2}}],
        "constraints": [{"matchAttribute": f"{DRIVER}/numa"}],
    },
    ", firstAvailable": {
        "requests": [
            {
                "name": "r",
                "firstAvailable": [
                    {"name": "none", **_EXACTLY, "count": DEVICES + 1},
                    {"name": "one", **_EXACTLY},
                ],
            }
        ]
    },
}
"""`spec.devices` by what the name of a figure says about it."""


def node(index: int) -> Object:
    """Return a node."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"worker-{index}", "labels": {}},
        "spec": {},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def device_class() -> Object:
    """Return the class of all devices."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": CLASS},
        "spec": {},
    }


def slice_of(index: int) -> Object:
    """Return the ResourceSlice of a node."""
    name = f"worker-{index}"
    devices = [
        {"name": f"gpu-{number}", "attributes": {"numa": {"int": number % 2}}}
        for number in range(DEVICES)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "spec": {"driver": DRIVER, "pool": pool, "nodeName": name, "devices": devices},
    }


def devices_of(nodes: int) -> Iterator[tuple[str, str]]:
    """Yield pool and name of every device, node by node."""
    for index in range(nodes):
        yield from ((f"worker-{index}", f"gpu-{number}") for number in range(DEVICES))


def claim(name: str, devices: Object) -> Object:
    """Return a claim with these `spec.devices`."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": devices},
    }


def allocation(devices: Iterable[tuple[str, str]]) -> Object:
    """Return an AllocationResult with these devices for the request `r`."""
    rows = [
        {"request": "r", "driver": DRIVER, "pool": pool, "device": name} for pool, name in devices
    ]
    return {"devices": {"results": rows}}


def pod(name: str, claim_name: str) -> Object:
    """Return a pod that uses a claim."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulerName": "flake-hunt",
            "containers": [{"name": "main", "image": "none"}],
            "resourceClaims": [{"name": "c", "resourceClaimName": claim_name}],
        },
    }
