"""Pods: what is checked of a new one, what may change later, and what its status may say."""

from collections.abc import Iterable, Iterator
from typing import Any

from harness.apiserver.rules import (
    causes,
    containers,
    formats,
    lists,
    metadata,
    printing,
    remembering,
)
from harness.apiserver.statuses import Cause

Document = dict[str, Any]
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_FREE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
_GATED_FREE = ("nodeSelector", "affinity")
"""What may change too while scheduling gates are left."""
_FROZEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


def pod(document: Document) -> Iterable[Cause]:
    """A new pod."""
    return _pod_spec(document.get("spec") or {})


def _spec(spec: Document) -> Iterator[Cause]:
    claims = spec.get("resourceClaims") or []
    yield from _claims(claims, "spec.resourceClaims")
    yield from containers.all_containers(spec, [claim.get("name") or "" for claim in claims])
    yield from _policy(spec, "restartPolicy", _RESTART_POLICIES)
    yield from _policy(spec, "dnsPolicy", _DNS_POLICIES)
    if selector := spec.get("nodeSelector"):
        yield from metadata.labels(selector, "spec.nodeSelector")
    gates = spec.get("schedulingGates") or []
    yield from lists.distinct(gates, "spec.schedulingGates", len(gates), _gate, _name)
    if node := spec.get("nodeName"):
        yield from formats.each("spec.nodeName", node, formats.subdomain)
        if gates:
            why = "cannot be set until all schedulingGates have been cleared"
            yield causes.forbidden("spec.nodeName", why)


def pod_change(document: Document, old: Document) -> Iterator[Cause]:
    """The spec of a pod stays as it is, but for images, deadlines, more tolerations and fewer gates."""
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            why = f"pod updates may not add or remove {'' if key == 'containers' else 'init '}containers"
            yield causes.forbidden(f"spec.{key}", why)
            return
    gates = {_name(gate) for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if _name(gate) not in gates:
            why = f"only deletion is allowed, but found new scheduling gate '{_name(gate)}'"
            yield causes.forbidden(f"spec.schedulingGates[{index}].name", why)
            return
    tolerated = spec.get("tolerations") or []
    if any(item not in tolerated for item in before.get("tolerations") or ()):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield causes.forbidden("spec.tolerations", why)
    elif _frozen(spec, gated=bool(gates)) != _frozen(before, gated=bool(gates)):
        yield causes.forbidden("spec", _FROZEN)


def pod_status(document: Document, _old: Document) -> Iterator[Cause]:
    """The status of a pod."""
    status = document.get("status") or {}
    for index, condition in enumerate(status.get("conditions") or ()):
        at = f"status.conditions[{index}].Type"
        yield from formats.each(at, condition.get("type") or "", formats.qualified_name)
    if statuses := status.get("resourceClaimStatuses"):
        claims = (document.get("spec") or {}).get("resourceClaims") or ()
        yield from _claim_statuses(statuses, {_name(claim) for claim in claims})


def _name(document: Document) -> str:
    return document.get("name") or ""


def _policy(spec: Document, key: str, known: tuple[str, ...]) -> Iterator[Cause]:
    value = spec.get(key) or ""
    if not value:
        yield causes.required(f"spec.{key}")
    elif value not in known:
        yield causes.unsupported(f"spec.{key}", value, known)


def _gate(gate: Document, at: str) -> list[Cause]:
    return formats.each(f"{at}.name", _name(gate), formats.qualified_name)


def _claims(claims: list[Document], at: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        yield from _claim(claim, f"{at}[{index}]")
        if (name := _name(claim)) in seen:
            yield causes.duplicate(f"{at}[{index}].name", name)
        seen.add(name)


def _claim(claim: Document, at: str) -> Iterator[Cause]:
    yield from formats.given(f"{at}.name", claim.get("name"), formats.label)
    claim_name, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
    shown = printing.struct("PodResourceClaim", claim)
    if claim_name is not None and template is not None:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield causes.invalid(at, shown, why)
    elif claim_name is None and template is None:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        yield causes.invalid(at, shown, why)
    for key, value in (
        ("resourceClaimName", claim_name),
        ("resourceClaimTemplateName", template),
    ):
        if value is not None:
            yield from formats.each(f"{at}.{key}", value, formats.subdomain)


def _claim_statuses(statuses: list[Document], known: set[str]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, status in enumerate(statuses):
        at, name = f"status.resourceClaimStatuses[{index}]", _name(status)
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            yield causes.invalid(f"{at}.name", name, why)
        if name in seen:
            yield causes.duplicate(f"{at}.name", name)
        seen.add(name)
        if claim_name := status.get("resourceClaimName"):
            yield from formats.each(f"{at}.resourceClaimName", claim_name, formats.subdomain)


def _frozen(spec: Document, *, gated: bool) -> Document:
    """The part of a spec that may not change; the gates have been looked at."""
    free = (*_FREE, "schedulingGates", *(_GATED_FREE if gated else ()))
    kept = {key: value for key, value in spec.items() if key not in free and value not in ([], {})}
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [
                {name: value for name, value in container.items() if name != "image"}
                for container in kept[key]
            ]
    return kept


_pod_spec = remembering.by_content(_spec)
