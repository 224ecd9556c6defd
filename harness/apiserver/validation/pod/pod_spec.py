"""Specs of pods: new ones, and the fields that updates may change."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from harness.apiserver.codec import go_values, memoization
from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.core import small_kinds
from harness.apiserver.validation.field import field_rules, formats, object_meta
from harness.apiserver.validation.pod import (
    container_ports,
    containers,
    pod_dns,
    projected_volumes,
    scheduling_constraints,
    security_context,
    volumes,
)

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
"""Fields whose changes are validated one by one."""
_GATED_FREE = ("nodeSelector", "affinity")
"""Fields that may also change while the pod has scheduling gates."""
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""Fields that the internal type keeps in the security context."""
DEADLINE_S_MAX = 2**31 - 1
"""The largest `activeDeadlineSeconds`."""
_FROZEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


def pod(document: Document) -> Iterator[Cause]:
    """Validate a new pod."""
    spec = document.get("spec") or {}
    yield from _pod_spec(spec)
    if spec.get("ephemeralContainers"):
        yield field_errors.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        yield field_errors.forbidden("spec.nodeName", why)


def spec_of(document: Document) -> Iterable[Cause]:
    """Validate the spec of a new or updated pod."""
    return _pod_spec(document.get("spec") or {})


def _spec(spec: Document) -> Iterator[Cause]:
    pod_volumes = spec.get("volumes") or []
    yield from volumes.all_volumes(pod_volumes, "spec.volumes")
    known = volumes.valid_by_name(pod_volumes)
    claims = spec.get("resourceClaims") or []
    yield from _claims(claims, "spec.resourceClaims")
    yield from containers.all_containers(spec, [claim.get("name") or "" for claim in claims], known)
    if spec.get("hostNetwork"):
        yield from container_ports.host_network_ports(
            spec.get("containers") or (), "spec.containers"
        )
    yield from _policy(spec, "restartPolicy", _RESTART_POLICIES)
    yield from _policy(spec, "dnsPolicy", _DNS_POLICIES)
    if selector := spec.get("nodeSelector"):
        yield from object_meta.labels(selector, "spec.nodeSelector")
    if (context := spec.get("securityContext")) or spec.get("hostPID"):
        yield from security_context.of_pod(context or {}, spec, "spec.securityContext")
    yield from pod_dns.dns_config(spec)
    gates = spec.get("schedulingGates") or []
    yield from field_rules.unique_items(gates, "spec.schedulingGates", len(gates), _gate, _name)
    for key, rule in _PARTS.items():
        if part := spec.get(key):
            yield from rule(part, f"spec.{key}")
    if pod_volumes and not spec.get("serviceAccountName"):
        yield from projected_volumes.service_account_tokens(pod_volumes, "spec.volumes")
    yield from _host_users(spec)
    for key, problems in _NAMES.items():
        if name := spec.get(key):
            yield from formats.check(f"spec.{key}", name, problems)
    yield from field_rules.in_range(
        spec.get("activeDeadlineSeconds"), "spec.activeDeadlineSeconds", 1, DEADLINE_S_MAX
    )
    yield from field_rules.enum_field(
        spec, "spec", "preemptionPolicy", small_kinds.PREEMPTION_POLICIES
    )


def pod_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated pod.

    Images may change, `activeDeadlineSeconds` may shrink, tolerations may be added and scheduling
    gates removed; all other fields of the spec are immutable.
    """
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    yield from spec_of(document)
    for rule in (_same_containers, _shrinking_deadline):
        if causes := list(rule(spec, before)):
            yield from causes
            return
    yield from _more_tolerations(spec, before)
    yield from _fewer_gates(spec, before)
    gated = bool(before.get("schedulingGates"))
    if gated:
        yield from _more_node_selectors(spec, before)
    expected = _expected(spec, before, gated=gated)
    if not field_rules.semantically_equal(expected, before):
        shown = go_values.difference("PodSpec", _internal(before), _internal(expected))
        yield field_errors.forbidden("spec", f"{_FROZEN}\n{shown}")


def _name(document: Document) -> str:
    return document.get("name") or ""


def _readiness_gates(gates: list[Document], at: str) -> Iterator[Cause]:
    for index, gate in enumerate(gates):
        kind = gate.get("conditionType") or ""
        yield from formats.check(f"{at}[{index}].conditionType", kind, formats.qualified_name)


def _host_users(spec: Document) -> Iterator[Cause]:
    """Reject `hostUsers: false` together with other namespaces of the host."""
    if spec.get("hostUsers") is not False:
        return
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key):
            shown = key if key == "hostNetwork" else f"H{key[1:]}"
            yield field_errors.forbidden(f"spec.{shown}", "when `pod.Spec.HostUsers` is false")


def _policy(spec: Document, key: str, known: tuple[str, ...]) -> Iterator[Cause]:
    value = spec.get(key) or ""
    if not value:
        yield field_errors.required(f"spec.{key}")
    elif value not in known:
        yield field_errors.unsupported(f"spec.{key}", value, known)


def _gate(gate: Document, at: str) -> list[Cause]:
    return formats.check(f"{at}.name", _name(gate), formats.qualified_name)


def _claims(claims: list[Document], at: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        yield from _claim(claim, f"{at}[{index}]")
        if (name := _name(claim)) in seen:
            yield field_errors.duplicate(f"{at}[{index}].name", name)
        seen.add(name)


def _claim(claim: Document, at: str) -> Iterator[Cause]:
    yield from formats.check_required(f"{at}.name", claim.get("name"), formats.label)
    claim_name, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
    shown = go_values.struct("PodResourceClaim", claim)
    if claim_name is not None and template is not None:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield field_errors.invalid(at, shown, why)
    elif claim_name is None and template is None:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        yield field_errors.invalid(at, shown, why)
    for key, value in (
        ("resourceClaimName", claim_name),
        ("resourceClaimTemplateName", template),
    ):
        if value is not None:
            yield from formats.check(f"{at}.{key}", value, formats.subdomain)


def _same_containers(spec: Document, before: Document) -> Iterator[Cause]:
    for key, what in (("containers", "containers"), ("initContainers", "init containers")):
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            yield field_errors.forbidden(f"spec.{key}", f"pod updates may not add or remove {what}")
            return


def _shrinking_deadline(spec: Document, before: Document) -> Iterator[Cause]:
    at, new = "spec.activeDeadlineSeconds", spec.get("activeDeadlineSeconds")
    known = before.get("activeDeadlineSeconds")
    if new is None:
        if known is not None:
            yield field_errors.invalid(
                at, None, "must not update from a positive integer to nil value"
            )
    elif not 0 <= new <= DEADLINE_S_MAX:
        yield field_errors.invalid(at, new, f"must be between 0 and {DEADLINE_S_MAX}, inclusive")
    elif known is not None and new > known:
        yield field_errors.invalid(at, new, "must be less than or equal to previous value")


def _fewer_gates(spec: Document, before: Document) -> Iterator[Cause]:
    known = {_name(gate) for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if _name(gate) not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{_name(gate)}'"
            yield field_errors.forbidden(f"spec.schedulingGates[{index}].name", why)


def _more_tolerations(spec: Document, before: Document) -> Iterator[Cause]:
    def timeless(toleration: Document) -> frozenset[tuple[str, Any]]:
        return frozenset(pair for pair in toleration.items() if pair[0] != "tolerationSeconds")

    tolerated = {timeless(item) for item in spec.get("tolerations") or ()}
    if any(timeless(item) not in tolerated for item in before.get("tolerations") or ()):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield field_errors.forbidden("spec.tolerations", why)
    else:
        # Like kube-apiserver, validate them a second time: `spec_of` has done it already.
        yield from scheduling_constraints.tolerations(
            spec.get("tolerations") or [], "spec.tolerations"
        )


def _more_node_selectors(spec: Document, before: Document) -> Iterator[Cause]:
    selector = spec.get("nodeSelector") or {}
    known = before.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in known.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield field_errors.invalid("spec.nodeSelector", selector, why)


def _expected(spec: Document, before: Document, *, gated: bool) -> Document:
    """Return the new spec with the old values of mutable fields; it should equal the old spec."""
    free = [*_FREE, *(_GATED_FREE if gated else ())]
    grace_s = before.get("terminationGracePeriodSeconds")
    if grace_s is not None and grace_s < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        free.append("terminationGracePeriodSeconds")
    expected = {key: value for key, value in spec.items() if key not in free}
    expected |= {key: before[key] for key in free if key in before}
    for key in ("containers", "initContainers"):
        if expected.get(key):
            pairs = zip(expected[key], before[key], strict=True)
            expected[key] = [new | {"image": old.get("image")} for new, old in pairs]
    return expected


def _internal(spec: Document) -> Document:
    """Return the spec in the form of the internal type, for the diff in the error message."""
    host = {key: spec[key] for key in _HOST_FIELDS if key in spec}
    return spec | {"securityContext": (spec.get("securityContext") or {}) | host}


_PARTS: dict[str, Callable[[Any, str], Iterable[Cause]]] = {
    "affinity": scheduling_constraints.affinity,
    "readinessGates": _readiness_gates,
    "topologySpreadConstraints": scheduling_constraints.topology_spread,
    "tolerations": scheduling_constraints.tolerations,
    "hostAliases": pod_dns.host_aliases,
}
_NAMES: dict[str, formats.Problems] = {
    "serviceAccountName": formats.subdomain,
    "nodeName": formats.subdomain,
    "hostname": formats.label,
    "subdomain": formats.label,
    "priorityClassName": formats.subdomain,
    "runtimeClassName": formats.subdomain,
}
_pod_spec = memoization.small_documents(_spec)
