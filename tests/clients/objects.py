"""Documents that the clients create."""

from typing import Any

Document = dict[str, Any]
DRIVER = "gpu.example.com"


def config(name: str, value: str = "0", **labels: str) -> Document:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"v": value}}


def other_image(name: str) -> Document:
    """A strategic merge patch: the container is found by its name, and the rest of it stays."""
    return {"spec": {"containers": [{"name": "main", "image": name}]}}


def device_class(name: str) -> Document:
    selectors = [{"cel": {"expression": f"device.driver == {DRIVER!r}"}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors},
    }


def resource_slice(name: str, *devices: str) -> Document:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "nodeName": "n1",
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": device} for device in devices],
        },
    }


def claim(name: str) -> Document:
    request = {"name": "gpu", "exactly": {"deviceClassName": DRIVER}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [request]}},
    }


def allocation(pool: str, device: str) -> Document:
    """The status of such a claim after its allocation."""
    result = {"request": "gpu", "driver": DRIVER, "pool": pool, "device": device}
    return {"allocation": {"devices": {"results": [result]}}}
