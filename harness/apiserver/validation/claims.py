"""ResourceClaims, their templates and their status, and DeviceClasses.

After k8s.io/kubernetes/pkg/apis/resource/validation.
"""

import functools
from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.validation import dra_rules, formats, metadata, node_resources, rules

REQUESTS_MAX = 32
SUBREQUESTS_MAX = 8
CONSTRAINTS_MAX = 32
"""Constraints of one claim."""
RESERVATIONS_MAX = 256
"""Entries of `status.reservedFor`."""
RESULTS_MAX = 32
"""Device results of one allocation."""
ADDRESSES_MAX = 16
"""IP addresses of one device."""
_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_NO_ADMIN = (
    f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
)


# ----------------------------------------------------------------------------- specs


def _amount(request: Document, at: str) -> Iterator[Cause]:
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "ExactCount" and count <= 0:
        yield field_errors.invalid(f"{at}.count", count, "must be greater than zero")
    elif mode == "All" and count:
        why = "must not be specified when allocationMode is 'All'"
        yield field_errors.invalid(f"{at}.count", count, why)


_DEVICES = (
    ("deviceClassName", rules.required(rules.text(formats.subdomain))),
    ("selectors", dra_rules.SELECTORS),
    ("allocationMode", rules.one_of("All", "ExactCount")),
    ("", _amount),
    ("tolerations", dra_rules.TOLERATIONS),
)
_SUBREQUEST = rules.fields(("name", dra_rules.LABEL), *_DEVICES)
_REQUEST = rules.fields(
    ("name", dra_rules.LABEL),
    ("", rules.exactly_one("exactly", "firstAvailable", missing=field_errors.required)),
    ("exactly", rules.given(rules.fields(*_DEVICES))),
    ("firstAvailable", rules.items(_SUBREQUEST, SUBREQUESTS_MAX, key=rules.name_of)),
)
_REQUESTS = rules.items(_REQUEST, REQUESTS_MAX, key=rules.name_of)


def _names(claim_devices: Document | None) -> frozenset[str]:
    """Return what names a request, or a request and a subrequest of it, of a claim."""
    names = set()
    for request in (claim_devices or {}).get("requests") or ():
        names.add(name := rules.name_of(request))
        subrequests = request.get("firstAvailable") or ()
        names.update(f"{name}/{rules.name_of(subrequest)}" for subrequest in subrequests)
    return frozenset(names)


def _reference(known: frozenset[str]) -> rules.Rule:
    """Return the rule of a reference: `request` or `request/subrequest`, by names that exist."""

    def check(name: str | None, at: str) -> Iterator[Cause]:
        if name in known:
            return
        parts = (name or "").split("/")
        for part in parts if len(parts) < 3 else ():
            yield from dra_rules.LABEL(part, at)
        why = "must be the name of a request in the claim, or of a request/subrequest"
        yield field_errors.invalid(at, name, why)

    return check


def _constraint(constraint: Document, at: str) -> Iterator[Cause]:
    for key in ("matchAttribute", "distinctAttribute"):
        if (name := constraint.get(key)) is not None:
            yield from dra_rules.full_attribute_name(name, f"{at}.{key}")
            return
    why = "exactly one of `matchAttribute` or `distinctAttribute` is required"
    yield field_errors.required(at, why)


def _devices(devices: Document | None, at: str) -> Iterator[Cause]:
    yield from _REQUESTS((devices or {}).get("requests"), f"{at}.requests")
    referring = ("requests", _references(_names(devices)))
    yield from rules.fields(
        ("constraints", rules.items(rules.fields(referring, ("", _constraint)), CONSTRAINTS_MAX)),
        (
            "config",
            rules.items(
                rules.fields(referring, *dra_rules.CONFIGURATION), dra_rules.CONFIGURATIONS_MAX
            ),
        ),
    )(devices, at)


def _references(known: frozenset[str]) -> rules.Rule:
    return rules.items(_reference(known), REQUESTS_MAX, key=str)


_SPEC = rules.fields(("devices", _devices))
claim = rules.whole(("spec", rules.cached(_SPEC, "spec")))
"""Validates a new ResourceClaim."""
template = rules.whole(
    ("spec.metadata", metadata.of_template), ("spec.spec", rules.cached(_SPEC, "spec.spec"))
)
"""Validates a new ResourceClaimTemplate."""
claim_change = rules.immutable("spec")
"""Validates an updated ResourceClaim, or an updated template."""


def device_class(document: Document, old: Document | None = None) -> Iterator[Cause]:
    """Validate a DeviceClass; what an update leaves as it was is not validated again."""
    before = None if old is None else old.get("spec") or {}
    yield from rules.changed(_CLASS, document.get("spec") or {}, before, "spec")


_CLASS = {
    "selectors": dra_rules.SELECTORS,
    "config": rules.items(rules.fields(*dra_rules.CONFIGURATION), dra_rules.CONFIGURATIONS_MAX),
    "extendedResourceName": rules.given(
        rules.wrong_if(
            lambda name: not node_resources.is_extended(name),
            "must be a valid extended resource name",
        )
    ),
}


# --------------------------------------------------------------------- admin access


def is_admin_namespace(labels: dict[str, str]) -> bool:
    """Return whether a namespace with these labels allows admin access to devices."""
    return labels.get(_ADMIN_LABEL) == "true"


def admin_request(document: Document) -> Iterator[Cause]:
    """Report the first request of a claim or template that asks for admin access.

    The caller drops the error if the namespace allows admin access.
    """
    spec = document.get("spec") or {}
    devices = (spec.get("spec") or spec).get("devices") or {}
    for index, request in enumerate(devices.get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            yield field_errors.forbidden(f"spec.devices.requests[{index}].adminAccess", _NO_ADMIN)
            return


def admin_result(document: Document, old: Document) -> Iterator[Cause]:
    """Report the first result with admin access, if the old allocation has none.

    The caller drops the error if the namespace allows admin access.
    """
    if any(before.get("adminAccess") for before in results_of(old)):
        return
    for index, result in enumerate(results_of(document)):
        if result.get("adminAccess"):
            at = f"status.allocation.devices.results[{index}].adminAccess"
            yield field_errors.forbidden(at, _NO_ADMIN)
            return


# ---------------------------------------------------------------------------- status


def results_of(claim: Document) -> list[Document]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def device_key(device: Document) -> tuple[str, ...]:
    """Return the driver, pool, device and share ID that identify an allocated device."""
    return tuple(device.get(key) or "" for key in ("driver", "pool", "device", "shareID"))


def claim_status_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated status."""
    status, before = document.get("status") or {}, old.get("status") or {}
    allocation = status.get("allocation")
    yield from _STATUS(status, "status")
    allocated = set(map(device_key, results_of(document)))
    for index, device in enumerate(status.get("devices") or ()):
        if device_key(device) not in allocated:
            why = "must be an allocated device in the claim"
            yield field_errors.invalid(f"status.devices[{index}]", device_key(device), why)
    yield from _reservations(document, before)
    if allocation is not None and before.get("allocation") is None:
        known = _names((document.get("spec") or {}).get("devices"))
        yield from _allocation(known)(allocation, "status.allocation")
    elif allocation is not None:
        yield from _KEPT(document, old)


def _reservations(document: Document, before: Document) -> Iterator[Cause]:
    status, at = document.get("status") or {}, "status.reservedFor"
    reserved, known = (item.get("reservedFor") or [] for item in (status, before))
    if reserved and status.get("allocation") is None:
        yield field_errors.forbidden(at, "may not be specified when `allocated` is not set")
    elif "deletionTimestamp" in document["metadata"] and any(
        entry not in known for entry in reserved
    ):
        why = "new entries may not be added while `deletionTimestamp` is set"
        yield field_errors.forbidden(at, why)


@functools.lru_cache(1024)
def _allocation(known: frozenset[str]) -> rules.Rule:
    result = rules.fields(("request", _reference(known)), *_RESULT)
    configuration = rules.fields(
        ("source", rules.required(rules.one_of("FromClaim", "FromClass"))),
        ("requests", _references(known)),
        *dra_rules.CONFIGURATION,
    )
    return rules.fields(
        ("devices.results", rules.items(result, RESULTS_MAX)),
        ("devices.config", rules.items(configuration, 2 * dra_rules.CONFIGURATIONS_MAX)),
        ("nodeSelector", rules.given(node_resources.node_selector)),
    )


_KEPT = rules.immutable("status.allocation")
_DEVICE = (
    ("driver", dra_rules.DRIVER),
    ("pool", dra_rules.POOL),
    ("device", dra_rules.LABEL),
    ("shareID", rules.given(rules.text(formats.uid))),
)
_RESULT = (*_DEVICE, *dra_rules.BINDING_CONDITIONS, ("tolerations", dra_rules.TOLERATIONS))
_ADDRESS = rules.text(formats.interface_cidr)
_REPORT = rules.fields(
    *_DEVICE,
    ("conditions", dra_rules.FEW_CONDITIONS),
    ("data", rules.given(dra_rules.raw)),
    ("networkData.interfaceName", rules.no_longer_than(256)),
    ("networkData.hardwareAddress", rules.no_longer_than(128)),
    ("networkData.ips", rules.items(_ADDRESS, ADDRESSES_MAX, key=str)),
)
_RESERVATION = rules.fields(
    ("resource", rules.required()), ("name", rules.required()), ("uid", rules.required())
)
_STATUS = rules.fields(
    (
        "reservedFor",
        rules.items(_RESERVATION, RESERVATIONS_MAX, key=lambda entry: entry.get("uid") or ""),
    ),
    ("devices", rules.items(_REPORT, key=device_key)),
)
