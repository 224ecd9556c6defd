"""The status of a ResourceClaim: allocation, `reservedFor`, device statuses of drivers."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import (
    device_classes,
    device_requests,
    device_taints,
    dra_names,
)
from harness.apiserver.validation.field import conditions, field_rules, formats, selector_rules

RESERVATIONS_MAX = 256
"""Entries of `status.reservedFor`."""
RESULTS_MAX = 32
"""Device results of one allocation."""
CONFIGURATIONS_MAX = 2 * device_classes.CONFIGURATIONS_MAX
"""Configurations in an allocation: those of device classes and those of the claim."""
ADDRESSES_MAX = 16
"""IP addresses of one device."""
INTERFACE_BYTES_MAX = 256
HARDWARE_ADDRESS_BYTES_MAX = 128
_SOURCES = ("FromClaim", "FromClass")
_NOT_ALLOCATED = "may not be specified when `allocated` is not set"
_DELETING = (
    "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
)


def claim_status_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated status."""
    new, before = document.get("status") or {}, old.get("status") or {}
    reserved = new.get("reservedFor") or []
    if reserved:
        at = "status.reservedFor"
        yield from field_rules.unique_items(reserved, at, RESERVATIONS_MAX, _reservation, _uid)
    if devices := new.get("devices"):
        yield from _device_statuses(devices, new.get("allocation") or {})
    if reserved:
        yield from _reservation_change(
            new, before, deleting="deletionTimestamp" in document["metadata"]
        )
    yield from _allocation_change(new, before, document)


def _allocation_change(new: Document, before: Document, document: Document) -> Iterator[Cause]:
    allocation, previous = new.get("allocation"), before.get("allocation")
    if allocation is None:
        return
    if previous is None:
        requests = ((document.get("spec") or {}).get("devices") or {}).get("requests") or []
        yield from _allocation(allocation, device_requests.names(requests), "status.allocation")
    elif not field_rules.semantically_equal(allocation, previous):
        yield field_errors.immutable("status.allocation", allocation)


# ------------------------------------------------------------------ reservations


def _uid(entry: Document) -> str:
    return entry.get("uid") or ""


def _reservation(entry: Document, at: str) -> Iterator[Cause]:
    for key in ("resource", "name", "uid"):
        if not entry.get(key):
            yield field_errors.required(f"{at}.{key}")


def _reservation_change(new: Document, before: Document, *, deleting: bool) -> Iterator[Cause]:
    at = "status.reservedFor"
    if new.get("allocation") is None:
        yield field_errors.forbidden(at, _NOT_ALLOCATED)
    elif deleting:
        known = before.get("reservedFor") or []
        if any(entry not in known for entry in new["reservedFor"]):
            yield field_errors.forbidden(at, _DELETING)


# ------------------------------------------------------------------ allocation


def _allocation(allocation: Document, known: device_requests.Names, at: str) -> Iterator[Cause]:
    devices = allocation.get("devices") or {}
    yield from field_rules.max_items(
        devices.get("results") or [],
        f"{at}.devices.results",
        RESULTS_MAX,
        lambda result, where: _result(result, where, known),
    )
    yield from field_rules.max_items(
        devices.get("config") or [],
        f"{at}.devices.config",
        CONFIGURATIONS_MAX,
        lambda document, where: _configuration(document, where, known),
    )
    if (selector := allocation.get("nodeSelector")) is not None:
        yield from selector_rules.node_selector(selector, f"{at}.nodeSelector")


def _result(result: Document, at: str, known: device_requests.Names) -> Iterator[Cause]:
    yield from device_requests.reference(result.get("request") or "", f"{at}.request", known)
    yield from dra_names.driver_causes(f"{at}.driver", result.get("driver"))
    yield from dra_names.pool_causes(f"{at}.pool", result.get("pool"))
    yield from formats.check(f"{at}.device", result.get("device") or "", formats.label)
    if conditions.BINDING_FIELDS & result.keys():
        yield from conditions.binding_conditions(result, at)
    if tolerated := result.get("tolerations"):
        yield from device_taints.tolerations(tolerated, f"{at}.tolerations")
    if (share := result.get("shareID")) is not None:
        yield from formats.check(f"{at}.shareID", share, formats.uid)


def _configuration(document: Document, at: str, known: device_requests.Names) -> Iterator[Cause]:
    source = document.get("source") or ""
    if not source:
        yield field_errors.required(f"{at}.source")
    elif source not in _SOURCES:
        yield field_errors.unsupported(f"{at}.source", source, _SOURCES)
    yield from device_requests.references(document.get("requests"), f"{at}.requests", known)
    yield from device_classes.configuration(document, at)


# ------------------------------------------------------------------ device statuses of drivers


def _device_statuses(devices: list[Document], allocation: Document) -> Iterator[Cause]:
    results = (allocation.get("devices") or {}).get("results") or []
    allocated = {device_key(result) for result in results}
    for index, device in enumerate(devices):
        yield from _device_status(device, f"status.devices[{index}]", allocated)
    seen = set()
    for index, device in enumerate(devices):
        if (key := device_key(device)) in seen:
            yield field_errors.duplicate(f"status.devices[{index}]", _shown_key(device))
        seen.add(key)


def device_key(device: Document) -> tuple[str, ...]:
    """Return the driver, pool, device and share ID that identify an allocated device."""
    return tuple(device.get(key) or "" for key in ("driver", "pool", "device", "shareID"))


def _shown_key(device: Document) -> Document:
    keys = ("driver", "pool", "device", "shareID")
    return {key: device[key] for key in keys if key in device}


def _device_status(device: Document, at: str, allocated: set[tuple[str, ...]]) -> Iterator[Cause]:
    yield from dra_names.driver_causes(f"{at}.driver", device.get("driver"))
    yield from dra_names.pool_causes(f"{at}.pool", device.get("pool"))
    yield from formats.check(f"{at}.device", device.get("device") or "", formats.label)
    if (share := device.get("shareID")) is not None:
        yield from formats.check(f"{at}.shareID", share, formats.uid)
    if device_key(device) not in allocated:
        yield field_errors.invalid(
            at, _shown_key(device), "must be an allocated device in the claim"
        )
    reported = device.get("conditions") or []
    if len(reported) > conditions.DEVICE_CONDITIONS_MAX:
        limit = conditions.DEVICE_CONDITIONS_MAX
        yield field_errors.too_many(f"{at}.conditions", len(reported), limit)
    yield from conditions.condition_list(reported, f"{at}.conditions")
    if device.get("data") is not None:
        yield from device_classes.raw(device["data"], f"{at}.data")
    yield from _network(device.get("networkData") or {}, f"{at}.networkData")


def _network(network: Document, at: str) -> Iterator[Cause]:
    limits = (
        ("interfaceName", INTERFACE_BYTES_MAX),
        ("hardwareAddress", HARDWARE_ADDRESS_BYTES_MAX),
    )
    for key, limit in limits:
        if len((network.get(key) or "").encode()) > limit:
            yield field_errors.too_long(f"{at}.{key}", limit)
    yield from field_rules.unique_items(
        network.get("ips") or [], f"{at}.ips", ADDRESSES_MAX, _address, field_rules.itself
    )


def _address(value: str, at: str) -> list[Cause]:
    return formats.check(at, value, formats.interface_cidr)
