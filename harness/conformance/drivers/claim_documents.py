"""Documents of claims: what a claim asks for, and an allocation as a scheduler writes it."""

import copy
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
    apart: bool = False
    """A request for each device, instead of one for all."""
    share_id: str = ""
    """The ID of all shares; empty: each has a new one."""
    whole: bool = False
    """All of the capacity of shared devices, instead of a share."""

    @property
    def requests(self) -> dict[str, Sequence[published_devices.Device]]:
        if not self.apart:
            return {REQUEST: self.devices}
        return {f"{REQUEST}-{number}": [device] for number, device in enumerate(self.devices)}

    def amounts(self, device: published_devices.Device) -> dict[str, str]:
        """Return what the claim has of the capacity of a device."""
        return dict(device.capacity if self.whole else device.share)


def spec(wanted: Wanted, class_name: str, given: Document) -> dict[str, Any]:
    """Return the spec of a claim; `given` is that of --claim, empty if there is none."""
    devices = dict(given.get("devices") or _made_up(wanted, class_name))
    if wanted.config:
        devices["config"] = [*(devices.get("config") or ()), *wanted.config]
    return {**given, "devices": devices}


def status(wanted: Wanted, *, driver: str, pod: tuple[str, str]) -> dict[str, Any]:
    """Return a status with an allocation; `pod` are name and uid of the one it is reserved for."""
    allocated = copy.deepcopy(dict(wanted.devices[0].allocation)) or _made(wanted, driver)
    config = [{"source": "FromClaim", **item} for item in wanted.config]
    allocated["config"] = [*(allocated.get("config") or ()), *config]
    for row in allocated["results"]:
        _complete(row, wanted)
    request = allocated["results"][0]["request"]
    allocated["results"] += [{"request": request, **row} for row in wanted.more_results]
    name, uid = pod
    reserved = {"resource": "pods", "name": name, "uid": uid}
    return {"allocation": {"devices": allocated}, "reservedFor": [reserved]}


def parameters(driver: str, value: Any) -> dict[str, Any]:
    """Return opaque parameters for a driver, for the config of a claim."""
    return {"opaque": {"driver": driver, "parameters": value}}


def base(request: str) -> str:
    """Return the request of a result: `gpu` of its alternative `gpu/large`, too."""
    return request.partition("/")[0]


def _made_up(wanted: Wanted, class_name: str) -> dict[str, Any]:
    return {
        "requests": [
            {"name": name, "exactly": _exactly(wanted, class_name, devices)}
            for name, devices in wanted.requests.items()
        ]
    }


def _exactly(
    wanted: Wanted, class_name: str, devices: Sequence[published_devices.Device]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "deviceClassName": class_name,
        "allocationMode": "ExactCount",
        "count": len(devices),
    }
    if wanted.admin:
        found["adminAccess"] = True
    if share := wanted.amounts(devices[0]):
        found["capacity"] = {"requests": share}
    return found


def _made(wanted: Wanted, driver: str) -> dict[str, Any]:
    return {
        "results": [
            _row(device, request, driver, wanted.amounts(device))
            for request, devices in wanted.requests.items()
            for device in devices
        ]
    }


def _row(
    device: published_devices.Device, request: str, driver: str, share: Document
) -> dict[str, Any]:
    row: dict[str, Any] = {"request": request, "driver": driver}
    row |= {"pool": device.pool, "device": device.name}
    if device.is_shared:
        row["shareID"] = ""
    if share:
        row["consumedCapacity"] = share
    return row


def _complete(row: dict[str, Any], wanted: Wanted) -> None:
    if wanted.admin:
        row["adminAccess"] = True
    if "shareID" in row:
        row["shareID"] = wanted.share_id or str(uuid.uuid4())
