"""Specs of pods: new ones, and the fields that updates may change.

Not checked: volumes, ports, environment, probes, security contexts, pod affinity, topology spread,
DNS, readiness gates, namespaces of the host.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.core import small_kinds
from harness.apiserver.validation.field import (
    field_rules,
    formats,
    object_meta,
    resource_requirements,
    selector_rules,
)

_POLICIES = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")
_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
"""Fields that may change."""
_GATED_FREE = ("nodeSelector", "affinity")
"""Fields that may also change while the pod has scheduling gates."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
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
    return _pod_spec(document.get("spec") or {})


def _spec(spec: Document) -> Iterator[Cause]:
    claims = spec.get("resourceClaims") or []
    yield from _claims(claims, "spec.resourceClaims")
    yield from all_containers(spec, [claim.get("name") or "" for claim in claims])
    for key, known in _POLICIES.items():
        yield from field_rules.required_enum_field(spec, "spec", key, known, "")
    yield from object_meta.labels(spec.get("nodeSelector"), "spec.nodeSelector")
    gates = spec.get("schedulingGates") or []
    yield from field_rules.unique_items(gates, "spec.schedulingGates", len(gates), _gate, _name)
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    if (required := nodes.get(_REQUIRED)) is not None:
        at = f"spec.affinity.nodeAffinity.{_REQUIRED}"
        yield from selector_rules.node_selector(required, at)
    yield from _tolerations(spec.get("tolerations") or [], "spec.tolerations")
    if (group := spec.get("schedulingGroup")) is not None:
        yield from _group(group.get("podGroupName"), "spec.schedulingGroup.podGroupName")
    for key, problems in _NAMES.items():
        if name := spec.get(key):
            yield from formats.check(f"spec.{key}", name, problems)
    yield from field_rules.enum_field(
        spec, "spec", "preemptionPolicy", small_kinds.PREEMPTION_POLICIES
    )


def pod_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated pod.

    Images and `activeDeadlineSeconds` may change, tolerations may be added and scheduling gates
    removed; all other fields of the spec are immutable.
    """
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    yield from spec_of(document)
    if causes := list(_same_containers(spec, before)):
        yield from causes
        return
    yield from _more_tolerations(spec, before)
    yield from _fewer_gates(spec, before)
    gated = bool(before.get("schedulingGates"))
    if gated:
        yield from _more_node_selectors(spec, before)
    expected = _expected(spec, before, gated=gated)
    if not field_rules.semantically_equal(expected, before):
        yield field_errors.forbidden("spec", _FROZEN)


def _name(document: Document) -> str:
    return document.get("name") or ""


def _group(name: str | None, at: str) -> list[Cause]:
    if name is None:
        return [field_errors.invalid(at, None, "must specify one of: `podGroupName`")]
    return formats.check(at, name, formats.subdomain)


def _gate(gate: Document, at: str) -> list[Cause]:
    return formats.check(f"{at}.name", _name(gate), formats.qualified_name)


def _tolerations(tolerations: list[Document], at: str) -> Iterator[Cause]:
    for index, toleration in enumerate(tolerations):
        yield from _toleration(toleration, f"{at}[{index}]")


def _toleration(toleration: Document, at: str) -> Iterator[Cause]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    effect = toleration.get("effect") or ""
    if key:
        yield from formats.check(f"{at}.key", key, formats.qualified_name)
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield field_errors.invalid(f"{at}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield field_errors.invalid(f"{at}.effect", effect, why)
    yield from _toleration_value(operator, toleration.get("value") or "", f"{at}.operator")
    if effect and effect not in _EFFECTS:
        yield field_errors.unsupported(f"{at}.effect", effect, _EFFECTS)


def _toleration_value(operator: str, value: str, at: str) -> Iterator[Cause]:
    match operator:
        case "" | "Equal":
            if problems := formats.label_value(value):
                yield field_errors.invalid(at, value, ";".join(problems))
        case "Exists":
            if value:
                yield field_errors.invalid(
                    at, value, "value must be empty when `operator` is 'Exists'"
                )
        case _:
            yield field_errors.unsupported(at, operator, _OPERATORS)


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
    if claim_name is not None and template is not None:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield field_errors.invalid(at, claim, why)
    elif claim_name is None and template is None:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        yield field_errors.invalid(at, claim, why)
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
        yield from _tolerations(spec.get("tolerations") or [], "spec.tolerations")


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


_NAMES: dict[str, formats.Problems] = {
    "serviceAccountName": formats.subdomain,
    "nodeName": formats.subdomain,
    "hostname": formats.label,
    "subdomain": formats.label,
    "priorityClassName": formats.subdomain,
    "runtimeClassName": formats.subdomain,
}
_pod_spec = field_rules.cached(_spec)


_ENUMS = {
    "restartPolicy": ("Always", "Never", "OnFailure"),
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
}
_UNKNOWN_CLAIM = "must be one of the names in pod.spec.resourceClaims"


def all_containers(spec: Document, claims: Sequence[str]) -> Iterator[Cause]:
    """Validate containers and init containers; names are unique in the pod."""
    if not spec.get("containers"):
        yield field_errors.required("spec.containers")
    seen: set[str] = set()
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key) or []):
            at, name = f"spec.{key}[{index}]", container.get("name") or ""
            yield from _container(container, at, claims)
            if name in seen:
                yield field_errors.duplicate(f"{at}.name", name)
            seen.add(name)


def _container(container: Document, at: str, claims: Sequence[str]) -> Iterator[Cause]:
    yield from formats.check_required(f"{at}.name", container.get("name"), formats.label)
    yield from field_rules.required(container, at, "image")
    for key, known in _ENUMS.items():
        yield from field_rules.enum_field(container, at, key, known)
    if resources := container.get("resources"):
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        at = f"{at}.resources"
        yield from resource_requirements.of_container(limits, requests, at)
        yield from _container_claims(resources.get("claims") or [], f"{at}.claims", claims)


def _container_claims(entries: list[Document], at: str, known: Sequence[str]) -> Iterator[Cause]:
    names = ", ".join(f'"{name}"' for name in sorted(known))
    why = f"{_UNKNOWN_CLAIM}: {names}" if known else f"{_UNKNOWN_CLAIM} which is empty"
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        name, request = entry.get("name") or "", entry.get("request") or ""
        if not name:
            yield field_errors.required(f"{at}[{index}]")
            continue
        key = f"{name}/{request}" if request else name
        if key in seen:
            yield field_errors.duplicate(f"{at}[{index}]", key)
        seen.add(key)
        if name not in known:
            yield field_errors.not_found(f"{at}[{index}]", name, why)
