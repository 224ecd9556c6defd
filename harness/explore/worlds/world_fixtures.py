"""Initial objects of a world: a node with devices, and claims.

They are the same for every run, so they are created once.
"""

import functools
import random
from typing import Any

from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis

Object = dict[str, Any]
NOW = "2026-01-01T00:00:00Z"
NAMESPACE = "default"
SCHEDULER = "flake-hunt"
DRIVER = "gpu.example"
DEVICE_CLASS = "gpu"


@functools.lru_cache(maxsize=64)
def filled(claims: int, devices: int) -> watch_cache.Past:
    """Return the past on which stores are based; objects keep their uids and versions."""
    store = stores.Store(now=lambda: NOW, stream=random.Random(1), track_managers=False)
    store.create(resources.NODES, "", _node())
    store.create(resources.DEVICE_CLASSES, "", _device_class())
    store.create(resources.SLICES, "", _slice(devices))
    for index in range(claims):
        store.create(resources.CLAIMS, NAMESPACE, _claim(index))
    objects = [(resource, stored) for resource, table in store.tables() for stored in table]
    objects.sort(key=lambda item: item[1].resource_version)
    return watch_cache.Past(version=store.resource_version, objects=objects, changes=[])


def _node() -> Object:
    fake = {"kwok.x-k8s.io/node": "fake"}  # the kubelets act for fake nodes only
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "worker-0", "annotations": fake},
    }


def _device_class() -> Object:
    return {
        "apiVersion": apis.DEVICE_CLASSES.api_version,
        "kind": "DeviceClass",
        "metadata": {"name": DEVICE_CLASS},
        "spec": {},
    }


def _slice(devices: int) -> Object:
    return {
        "apiVersion": apis.SLICES.api_version,
        "kind": "ResourceSlice",
        "metadata": {"name": "worker-0"},
        "spec": {
            "driver": DRIVER,
            "nodeName": "worker-0",
            "pool": {"name": "worker-0", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"device-{index}"} for index in range(devices)],
        },
    }


def _claim(index: int) -> Object:
    request = {"name": "device", "exactly": {"deviceClassName": DEVICE_CLASS}}
    return {
        "apiVersion": apis.CLAIMS.api_version,
        "kind": "ResourceClaim",
        "metadata": {"name": f"claim-{index + 1}"},
        "spec": {"devices": {"requests": [request]}},
    }


def pod(index: int, prefix: str = "") -> Object:
    """Return the pod that uses the claim of this index."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{prefix}pod-{index + 1}"},
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [{"name": "work", "image": "none"}],
            "resourceClaims": [{"name": "device", "resourceClaimName": f"claim-{index + 1}"}],
        },
    }
