"""The requests of a claim, with their alternatives and their device classes."""

import dataclasses
from collections.abc import Iterator, Mapping

from harness import errors
from harness.client import informers
from harness.model.objects import Object

DEVICES_PER_CLAIM_MAX = 32
"""The API's limit for the results of one claim (`AllocationResultsMaxSize`)."""
SUBREQUESTS_MAX = 8
"""The API's limit for the alternatives of one request (`FirstAvailableDeviceRequestMaxSize`)."""


class AllocationError(errors.HarnessError):
    """A claim that cannot be allocated on any node; the scheduling attempt ends."""


class PoolNotReadyError(AllocationError):
    """A request for all devices of a node one of whose pools is incomplete or invalid."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One way to satisfy a request."""

    request: str
    """Name of the request."""
    name: str
    """`request` or `request/subrequest`."""
    count: int | None
    """Number of devices; None: all matching devices."""
    selectors: tuple[str, ...]
    """Those of the class, then those of the request."""
    admin_access: bool
    tolerations: tuple[Object, ...]
    capacity: Mapping[str, str]
    """Quantities that are asked for, by name."""
    device_class: Object


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceRequest:
    """A request of one of the claims, with its alternatives in order of preference."""

    claim: int
    """Index of the claim in the list of claims to allocate."""
    options: tuple[Option, ...]


def requests_of(
    index: int, claim: Object, classes: Mapping[str, Object]
) -> Iterator[DeviceRequest]:
    """Yield the requests of the claim at this index. Raises AllocationError."""
    for request in (claim["spec"].get("devices") or {}).get("requests") or ():
        if not request.get("exactly") and not request.get("firstAvailable"):
            raise AllocationError(  # a newer API server may store such requests
                f"resource claim {informers.key_of(claim)}, request {request.get('name')}: "
                "unknown request type"
            )
        yield DeviceRequest(index, tuple(_options(request, classes)))


def _options(request: Object, classes: Mapping[str, Object]) -> Iterator[Option]:
    name = request["name"]
    if request.get("exactly"):
        exactly = request["exactly"]
        yield _option(name, name, exactly, classes, admin_access=bool(exactly.get("adminAccess")))
    else:
        for sub in request["firstAvailable"]:
            yield _option(name, f"{name}/{sub['name']}", sub, classes, admin_access=False)


def _option(
    request: str, name: str, spec: Object, classes: Mapping[str, Object], *, admin_access: bool
) -> Option:
    device_class = classes.get(spec.get("deviceClassName") or "")
    if device_class is None:
        raise AllocationError(
            f"request {name}: device class {spec.get('deviceClassName')} does not exist"
        )
    return Option(
        request=request,
        name=name,
        count=_count(name, spec),
        selectors=tuple(_selectors(name, device_class["spec"], spec)),
        admin_access=admin_access,
        tolerations=tuple(spec.get("tolerations") or ()),
        capacity=(spec.get("capacity") or {}).get("requests") or {},
        device_class=device_class,
    )


def _count(name: str, spec: Object) -> int | None:
    mode = spec.get("allocationMode") or "ExactCount"
    if mode == "All":
        return None
    if mode != "ExactCount":
        raise AllocationError(f"request {name}: unsupported count mode {mode}")
    return int(spec.get("count") or 1)


def _selectors(name: str, class_spec: Object, spec: Object) -> Iterator[str]:
    for selector in (*(class_spec.get("selectors") or ()), *(spec.get("selectors") or ())):
        if not selector.get("cel"):
            raise AllocationError(f"request {name}: expected a CEL selector, got {selector}")
        yield selector["cel"]["expression"]
