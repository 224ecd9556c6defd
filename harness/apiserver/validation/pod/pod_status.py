"""The status of pods: conditions, container states, resource claim statuses."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats
from harness.apiserver.validation.pod import extended_claim_status


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
        yield from extended_claim_status.extended_claim_status(extended, spec, at)


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
