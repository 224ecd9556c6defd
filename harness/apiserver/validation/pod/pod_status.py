"""The status of pods: conditions, container states, resource claim statuses."""

from collections.abc import Iterator, Mapping

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats

_NO_CONTAINER = (
    "must match the name of an entry in spec.initContainers.name or spec.containers.name"
)
_NO_RESOURCE = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests "
    "or spec.containers.resources.requests"
)
_KEYS = ("containerName", "resourceName", "requestName")


def pod_status_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated status."""
    status, before = document.get("status") or {}, old.get("status") or {}
    spec = document.get("spec") or {}
    for index, condition in enumerate(status.get("conditions") or ()):
        at = f"status.conditions[{index}].Type"
        yield from formats.check(at, condition.get("type") or "", formats.qualified_name)
    node = status.get("nominatedNodeName")
    if node and node != before.get("nominatedNodeName"):
        yield from formats.check("status.nominatedNodeName", node, formats.subdomain)
    if (known := before.get("qosClass")) and status["qosClass"] != known:
        yield field_errors.immutable("status.qosClass", status["qosClass"])
    yield from _restarts(status, before, spec)
    if statuses := status.get("resourceClaimStatuses"):
        claims = spec.get("resourceClaims") or ()
        yield from _claims(statuses, {_name(claim) for claim in claims})
    if (extended := status.get("extendedResourceClaimStatus")) is not None:
        at = "status.extendedResourceClaimStatus"
        yield from _extended_claim_status(extended, spec, at)


def _name(document: Document) -> str:
    return document.get("name") or ""


def _restarts(status: Document, before: Document, spec: Document) -> Iterator[Cause]:
    """Reject a terminated container that is running again, unless its restart policy allows it."""
    policy = spec.get("restartPolicy") or "Always"
    for key, parts in (
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", "ephemeralContainers"),
    ):
        policies = {_name(item): item.get("restartPolicy") for item in spec.get(parts) or ()}
        now = {_name(item): item for item in status.get(key) or ()}
        for index, item in enumerate(before.get(key) or ()):
            own = "Never" if parts == "ephemeralContainers" else policies.get(_name(item)) or policy
            ended = _termination(item)
            if ended is None or own == "Always" or (own == "OnFailure" and ended.get("exitCode")):
                continue
            if (new := now.get(_name(item))) is not None and _termination(new) is None:
                why = "may not be transitioned to non-terminated state"
                yield field_errors.forbidden(f"status.{key}[{index}].state", why)


def _termination(status: Document) -> Document | None:
    terminated: Document | None = (status.get("state") or {}).get("terminated")
    return terminated


def _claims(statuses: list[Document], known: set[str]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, status in enumerate(statuses):
        at, name = f"status.resourceClaimStatuses[{index}]", _name(status)
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            yield field_errors.invalid(f"{at}.name", name, why)
        if name in seen:
            yield field_errors.duplicate(f"{at}.name", name)
        seen.add(name)
        if claim_name := status.get("resourceClaimName"):
            yield from formats.check(f"{at}.resourceClaimName", claim_name, formats.subdomain)


def _extended_claim_status(status: Document, spec: Document, at: str) -> Iterator[Cause]:
    containers = {
        container.get("name") or "": container
        for key in ("initContainers", "containers")
        for container in spec.get(key) or ()
    }
    yield from _mappings(status.get("requestMappings") or [], containers, at)
    if name := status.get("resourceClaimName"):
        yield from formats.check(f"{at}.resourceClaimName", name, formats.subdomain)
    else:
        yield field_errors.required(f"{at}.resourceClaimName")


def _mappings(
    mappings: list[Document], containers: Mapping[str, Document], at: str
) -> Iterator[Cause]:
    if not mappings:
        why = "at least one request mapping is required"
        yield field_errors.required(f"{at}.requestMappings", why)
    seen: set[tuple[str, ...]] = set()
    for index, mapping in enumerate(mappings):
        here = f"{at}.requestMappings[{index}]"
        values = tuple(mapping.get(key) or "" for key in _KEYS)
        yield from _known(values[0], values[1], containers, here)
        # Upstream names the field without its index.
        yield from formats.check(f"{at}.requestName", values[2], formats.label)
        if values in seen:
            for key, value in zip(_KEYS, values, strict=True):
                yield field_errors.duplicate(f"{here}.{key}", value)
        seen.add(values)


def _known(
    container: str, resource: str, containers: Mapping[str, Document], at: str
) -> Iterator[Cause]:
    if container not in containers:
        yield field_errors.invalid(f"{at}.containerName", container, _NO_CONTAINER)
        return
    resources = containers[container].get("resources") or {}
    if resource not in (resources.get("requests") or {}):
        yield field_errors.invalid(f"{at}.resourceName", resource, _NO_RESOURCE)
