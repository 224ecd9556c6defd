"""Claims of rules: what one asks for, and an allocation as a scheduler writes it."""

import copy
import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from harness.conformance import allocations, driver_instances

REQUEST = "devices"
"""The request of claims that the test makes up."""
Document = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the API server, allocated unless a rule wants otherwise."""

    name: str
    uid: str
    namespace: str
    devices: Sequence[allocations.Device] = ()
    rows: Sequence[Document] = ()
    """The driver's results of its allocation."""

    @property
    def reference(self) -> driver_instances.Claim:
        return driver_instances.Claim(self.namespace, self.name, self.uid)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A claim that a rule wants."""

    devices: Sequence[allocations.Device]
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

    def spec(self, class_name: str, given: Document) -> dict[str, Any]:
        """Return the spec of the claim; `given` is that of --claim, empty if there is none."""
        devices = dict(given.get("devices") or {"requests": self._made_up(class_name)})
        if self.config:
            devices["config"] = [*(devices.get("config") or ()), *self.config]
        return {**given, "devices": devices}

    def allocation(self, driver: str) -> dict[str, Any]:
        """Return `devices` of its allocation."""
        allocated = copy.deepcopy(dict(self.devices[0].allocation)) or {
            "results": self._rows(driver)
        }
        config = [{"source": "FromClaim", **item} for item in self.config]
        allocated["config"] = [*(allocated.get("config") or ()), *config]
        for row in allocated["results"]:
            if self.admin:
                row["adminAccess"] = True
            if "shareID" in row:
                row["shareID"] = self.share_id or str(uuid.uuid4())
        request = allocated["results"][0]["request"]
        allocated["results"] += [{"request": request, **row} for row in self.more_results]
        return allocated

    @property
    def _requests(self) -> dict[str, Sequence[allocations.Device]]:
        if not self.apart:
            return {REQUEST: self.devices}
        return {f"{REQUEST}-{number}": [device] for number, device in enumerate(self.devices)}

    def _amounts(self, device: allocations.Device) -> dict[str, str]:
        return dict(device.capacity if self.whole else device.share)

    def _made_up(self, class_name: str) -> list[dict[str, Any]]:
        made = []
        for name, devices in self._requests.items():
            asked: dict[str, Any] = {"deviceClassName": class_name, "count": len(devices)}
            asked |= {"allocationMode": "ExactCount"}
            if self.admin:
                asked["adminAccess"] = True
            if share := self._amounts(devices[0]):
                asked["capacity"] = {"requests": share}
            made.append({"name": name, "exactly": asked})
        return made

    def _rows(self, driver: str) -> list[dict[str, Any]]:
        rows = []
        for request, devices in self._requests.items():
            for device in devices:
                row: dict[str, Any] = {"request": request, "driver": driver}
                row |= {"pool": device.pool, "device": device.name}
                row |= {"shareID": ""} if device.is_shared else {}
                if share := self._amounts(device):
                    row["consumedCapacity"] = share
                rows.append(row)
        return rows


def parameters(driver: str, value: Any) -> dict[str, Any]:
    return {"opaque": {"driver": driver, "parameters": value}}


def base(request: str) -> str:
    """Return the request of a result: `gpu` of its alternative `gpu/large`, too."""
    return request.partition("/")[0]
