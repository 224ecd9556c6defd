"""Documents of claims: what a claim asks for, and an allocation as a scheduler writes it."""

import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from harness.conformance.drivers import published_devices

REQUEST = "devices"
"""The request of claims that the test makes up."""
Document = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A claim that a rule wants."""

    devices: Sequence[published_devices.Device]
    config: Sequence[Document] = ()
    """More opaque parameters than --claim has."""
    more_results: Sequence[Document] = ()
    """Results of other drivers in the same allocation."""
    admin: bool = False
    """With admin access: beside the claim that has the devices."""


def spec(wanted: Wanted, class_name: str, given: Document) -> dict[str, Any]:
    """Return the spec of a claim; `given` is that of --claim, empty if there is none."""
    devices = dict(given.get("devices") or _made_up(wanted, class_name))
    if wanted.config:
        devices["config"] = [*(devices.get("config") or ()), *wanted.config]
    return {**given, "devices": devices}


def status(
    wanted: Wanted, spec_of_claim: Document, *, driver: str, pod: tuple[str, str]
) -> dict[str, Any]:
    """Return a status with an allocation; `pod` are name and uid of the one it is reserved for."""
    asked = spec_of_claim["devices"]
    request = asked["requests"][0]["name"]
    rows = [_result(device, request, driver, wanted) for device in wanted.devices]
    config = [{"source": "FromClaim", **item} for item in asked.get("config") or ()]
    others = [{"request": request, **row} for row in wanted.more_results]
    allocated = {"results": [*rows, *others], "config": config}
    name, uid = pod
    reserved = {"resource": "pods", "name": name, "uid": uid}
    return {"allocation": {"devices": allocated}, "reservedFor": [reserved]}


def allocated_devices(claim: Document) -> list[published_devices.Device]:
    """Return the devices of the allocation that a document of --claim has, none without one."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    rows = (allocation.get("devices") or {}).get("results") or []
    return [published_devices.Device(pool=row["pool"], name=row["device"]) for row in rows]


def parameters(driver: str, value: Any) -> dict[str, Any]:
    """Return opaque parameters for a driver, for the config of a claim."""
    return {"opaque": {"driver": driver, "parameters": value}}


def _made_up(wanted: Wanted, class_name: str) -> dict[str, Any]:
    exactly: dict[str, Any] = {
        "deviceClassName": class_name,
        "allocationMode": "ExactCount",
        "count": len(wanted.devices),
    }
    if wanted.admin:
        exactly["adminAccess"] = True
    return {"requests": [{"name": REQUEST, "exactly": exactly}]}


def _result(
    device: published_devices.Device, request: str, driver: str, wanted: Wanted
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "request": request,
        "driver": driver,
        "pool": device.pool,
        "device": device.name,
    }
    if wanted.admin:
        row["adminAccess"] = True
    if device.is_shared:
        row["shareID"] = str(uuid.uuid4())
    if device.capacity:
        row["consumedCapacity"] = dict(device.capacity)
    return row
