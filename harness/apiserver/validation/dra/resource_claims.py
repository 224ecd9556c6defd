"""ResourceClaims and ResourceClaimTemplates: their specs, which are immutable; admin access."""

from collections.abc import Iterable, Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import device_classes, device_requests, dra_names
from harness.apiserver.validation.field import field_rules, object_meta

CONSTRAINTS_MAX = 32
"""Constraints of one claim."""
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_NO_ADMIN = (
    f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
)


def claim(document: Document) -> Iterable[Cause]:
    """Validate a new ResourceClaim."""
    return _claim_spec(document.get("spec") or {})


def template(document: Document) -> Iterator[Cause]:
    """Validate a new ResourceClaimTemplate."""
    spec = document.get("spec") or {}
    yield from object_meta.of_template(spec.get("metadata") or {}, "spec.metadata")
    yield from _template_spec(spec.get("spec") or {})


def claim_change(document: Document, old: Document) -> Iterator[Cause]:
    return _same_spec(document, old)


def template_change(document: Document, old: Document) -> Iterator[Cause]:
    return _same_spec(document, old)


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
    for index, result in enumerate(_results(document)):
        if result.get("adminAccess"):
            if not any(before.get("adminAccess") for before in _results(old)):
                at = f"status.allocation.devices.results[{index}].adminAccess"
                yield field_errors.forbidden(at, _NO_ADMIN)
            return


def _results(document: Document) -> list[Document]:
    allocation = (document.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def _spec(spec: Document, at: str) -> Iterator[Cause]:
    devices, at = spec.get("devices") or {}, f"{at}.devices"
    requests = devices.get("requests") or []
    yield from field_rules.unique_items(
        requests,
        f"{at}.requests",
        device_requests.REQUESTS_MAX,
        device_requests.request,
        device_requests.name_of,
    )
    constraints, configs = devices.get("constraints"), devices.get("config")
    if not constraints and not configs:
        return
    known = device_requests.names(requests)
    yield from field_rules.max_items(
        constraints or [],
        f"{at}.constraints",
        CONSTRAINTS_MAX,
        lambda document, where: _constraint(document, where, known),
    )
    yield from field_rules.max_items(
        configs or [],
        f"{at}.config",
        device_classes.CONFIGURATIONS_MAX,
        lambda document, where: _configuration(document, where, known),
    )


def _constraint(document: Document, at: str, known: device_requests.Names) -> Iterator[Cause]:
    yield from device_requests.references(document.get("requests"), f"{at}.requests", known)
    for key in ("matchAttribute", "distinctAttribute"):
        if (name := document.get(key)) is not None:
            yield from dra_names.full_attribute_causes(f"{at}.{key}", name)
            return
    yield field_errors.required(at, _ONE_ATTRIBUTE)


def _configuration(document: Document, at: str, known: device_requests.Names) -> Iterator[Cause]:
    yield from device_requests.references(document.get("requests"), f"{at}.requests", known)
    yield from device_classes.configuration(document, at)


def _same_spec(document: Document, old: Document) -> Iterator[Cause]:
    if not field_rules.semantically_equal(document.get("spec"), old.get("spec")):
        yield field_errors.immutable("spec", document.get("spec"))


_claim_spec = field_rules.cached(lambda spec: _spec(spec, "spec"))
_template_spec = field_rules.cached(lambda spec: _spec(spec, "spec.spec"))
