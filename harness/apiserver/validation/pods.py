"""Pods: what schedulers, claims and kubelets depend on. After pkg/apis/core/validation.

Not checked, as docs/reference/embedded-api-server.md says: volumes, ports, environment, probes,
security contexts, pod affinity, topology spread, DNS, readiness gates, namespaces of the host.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.validation import formats, metadata, node_resources, rules

PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
NODE_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
"""Fields that may change."""
_GATED_FREE = ("nodeSelector", "affinity")
"""Fields that may also change while the pod has scheduling gates."""
_FROZEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
_SUBDOMAIN, _LABEL = rules.text(formats.subdomain), rules.text(formats.label)
_QUALIFIED = rules.text(formats.qualified_name)


# ------------------------------------------------------------------------ new pods


def pod(document: Document) -> Iterator[Cause]:
    """Validate a new pod."""
    spec = document.get("spec") or {}
    yield from _POD_SPEC(spec, "spec")
    if spec.get("ephemeralContainers"):
        yield field_errors.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        yield field_errors.forbidden("spec.nodeName", why)


def _toleration(toleration: Document, at: str) -> Iterator[Cause]:
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    effect = toleration.get("effect") or ""
    if not toleration.get("key") and operator != "Exists":
        why = "operator must be Exists when `key` is empty"
        yield field_errors.invalid(f"{at}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield field_errors.invalid(f"{at}.effect", effect, why)
    if operator == "Exists" and value:
        why = "value must be empty when `operator` is 'Exists'"
        yield field_errors.invalid(f"{at}.operator", value, why)
    elif operator in ("", "Equal") and (problems := formats.label_value(value)):
        yield field_errors.invalid(f"{at}.operator", value, "; ".join(problems))


def _containers(spec: Document, at: str) -> Iterator[Cause]:
    """Validate containers and init containers; names are unique in the pod."""
    claims = _container_claims([rules.name_of(item) for item in spec.get("resourceClaims") or ()])
    yield from rules.required()(spec.get("containers"), f"{at}.containers")
    seen: set[str] = set()
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key) or ()):
            here, name = f"{at}.{key}[{index}]", container.get("name") or ""
            yield from _CONTAINER(container, here)
            entries = (container.get("resources") or {}).get("claims")
            yield from claims(entries, f"{here}.resources.claims")
            if name in seen:
                yield field_errors.duplicate(f"{here}.name", name)
            seen.add(name)


def _container_claims(known: Sequence[str]) -> rules.Rule:
    """Return the rule of the claims of a container, given the names of the pod's claims."""

    def check(entry: Document, at: str) -> Iterator[Cause]:
        if not (name := rules.name_of(entry)):
            yield field_errors.required(at)
        elif name not in known:
            why = "must be one of the names in pod.spec.resourceClaims"
            yield field_errors.not_found(at, name, why)

    return rules.items(check, key=lambda entry: (rules.name_of(entry), entry.get("request") or ""))


_CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
_CONTAINER = rules.fields(
    ("name", rules.required(_LABEL)),
    ("image", rules.required()),
    ("restartPolicy", rules.given(rules.one_of("Always", "Never", "OnFailure"))),
    ("imagePullPolicy", rules.given(rules.one_of("Always", "IfNotPresent", "Never"))),
    ("resources", node_resources.of_container),
)
_CLAIM = rules.fields(
    ("name", rules.required(_LABEL)),
    ("", rules.exactly_one(*_CLAIM_SOURCES)),
    *((key, rules.given(_SUBDOMAIN)) for key in _CLAIM_SOURCES),
)
_TOLERATIONS = rules.items(
    rules.fields(
        ("key", rules.filled(_QUALIFIED)),
        ("operator", rules.filled(rules.one_of("Equal", "Exists"))),
        ("effect", rules.filled(rules.one_of(*NODE_EFFECTS))),
        ("", _toleration),
    )
)
_POD_SPEC = rules.cached(
    rules.fields(
        ("resourceClaims", rules.items(_CLAIM, key=rules.name_of, key_field="name")),
        ("", _containers),
        ("restartPolicy", rules.required(rules.one_of("Always", "OnFailure", "Never"))),
        (
            "dnsPolicy",
            rules.required(
                rules.one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
            ),
        ),
        ("nodeSelector", metadata.labels),
        ("schedulingGates", rules.items(rules.fields(("name", _QUALIFIED)), key=rules.name_of)),
        (
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
            rules.given(node_resources.node_selector),
        ),
        ("tolerations", _TOLERATIONS),
        ("schedulingGroup", rules.given(rules.fields(("podGroupName", rules.present(_SUBDOMAIN))))),
        *(
            (key, rules.filled(_SUBDOMAIN))
            for key in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName")
        ),
        *((key, rules.filled(_LABEL)) for key in ("hostname", "subdomain")),
        ("preemptionPolicy", rules.given(rules.one_of(*PREEMPTION_POLICIES))),
    ),
    "spec",
)


# ------------------------------------------------------------------------- updates


def pod_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated pod.

    Images and `activeDeadlineSeconds` may change, tolerations may be added and scheduling gates
    removed; all other fields of the spec are immutable.
    """
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    yield from _POD_SPEC(spec, "spec")
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            yield field_errors.forbidden(f"spec.{key}", "may not be added or removed")
            return
    yield from _more_tolerations(spec, before)
    yield from _fewer_gates(spec, before)
    gated = bool(before.get("schedulingGates"))
    selector, known = spec.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if gated and any(selector.get(key) != value for key, value in known.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield field_errors.invalid("spec.nodeSelector", selector, why)
    if not rules.semantically_equal(_expected(spec, before, gated=gated), before):
        yield field_errors.forbidden("spec", _FROZEN)


def _more_tolerations(spec: Document, before: Document) -> Iterator[Cause]:
    def timeless(toleration: Document) -> frozenset[tuple[str, Any]]:
        return frozenset(pair for pair in toleration.items() if pair[0] != "tolerationSeconds")

    tolerated = {timeless(item) for item in spec.get("tolerations") or ()}
    if any(timeless(item) not in tolerated for item in before.get("tolerations") or ()):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield field_errors.forbidden("spec.tolerations", why)


def _fewer_gates(spec: Document, before: Document) -> Iterator[Cause]:
    known = {rules.name_of(gate) for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if (name := rules.name_of(gate)) not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield field_errors.forbidden(f"spec.schedulingGates[{index}].name", why)


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


# -------------------------------------------------------------------------- status


def pod_status_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated status."""
    status, before = document.get("status") or {}, old.get("status") or {}
    spec = document.get("spec") or {}
    yield from _STATUS(status, "status")
    node = status.get("nominatedNodeName")
    if node and node != before.get("nominatedNodeName"):
        yield from _SUBDOMAIN(node, "status.nominatedNodeName")
    if (known := before.get("qosClass")) and status["qosClass"] != known:
        yield field_errors.immutable("status.qosClass", status["qosClass"])
    yield from _restarts(status, before, spec)
    yield from claim_statuses(status, spec)
    if (extended := status.get("extendedResourceClaimStatus")) is not None:
        yield from _extended_claim(extended, spec, "status.extendedResourceClaimStatus")


def claim_statuses(status: Document, spec: Document) -> Iterator[Cause]:
    """Require the claims in the status of a pod or PodGroup to be those of its spec."""
    known = {rules.name_of(claim) for claim in spec.get("resourceClaims") or ()}
    for index, item in enumerate(status.get("resourceClaimStatuses") or ()):
        if (name := rules.name_of(item)) not in known:
            at = f"status.resourceClaimStatuses[{index}].name"
            why = "must match the name of an entry in `spec.resourceClaims`"
            yield field_errors.invalid(at, name, why)


def _restarts(status: Document, before: Document, spec: Document) -> Iterator[Cause]:
    """Reject a terminated container that is running again, unless its restart policy allows it."""
    policy = spec.get("restartPolicy") or "Always"
    for key, parts in (
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", "ephemeralContainers"),
    ):
        policies = {
            rules.name_of(item): item.get("restartPolicy") for item in spec.get(parts) or ()
        }
        now = {rules.name_of(item): item for item in status.get(key) or ()}
        for index, item in enumerate(before.get(key) or ()):
            name, ended = rules.name_of(item), _termination(item)
            own = "Never" if parts == "ephemeralContainers" else policies.get(name) or policy
            if ended is None or own == "Always" or (own == "OnFailure" and ended.get("exitCode")):
                continue
            if (new := now.get(name)) is not None and _termination(new) is None:
                why = "may not be transitioned to non-terminated state"
                yield field_errors.forbidden(f"status.{key}[{index}].state", why)


def _termination(status: Document) -> Document | None:
    terminated: Document | None = (status.get("state") or {}).get("terminated")
    return terminated


def _extended_claim(status: Document, spec: Document, at: str) -> Iterator[Cause]:
    containers = {
        rules.name_of(container): container
        for key in ("initContainers", "containers")
        for container in spec.get(key) or ()
    }
    yield from rules.required(_SUBDOMAIN)(
        status.get("resourceClaimName"), f"{at}.resourceClaimName"
    )
    mappings = status.get("requestMappings")
    yield from rules.required()(mappings, f"{at}.requestMappings")
    seen: set[tuple[str, ...]] = set()
    for index, mapping in enumerate(mappings or ()):
        here = f"{at}.requestMappings[{index}]"
        yield from _known(mapping, containers, here)
        # Upstream names the field without its index.
        yield from _LABEL(mapping.get("requestName"), f"{at}.requestName")
        values = tuple(mapping.get(key) or "" for key in _MAPPING_KEYS)
        if values in seen:
            for key, value in zip(_MAPPING_KEYS, values, strict=True):
                yield field_errors.duplicate(f"{here}.{key}", value)
        seen.add(values)


def _known(mapping: Document, containers: Mapping[str, Document], at: str) -> Iterator[Cause]:
    container = containers.get(name := mapping.get("containerName") or "")
    resource = mapping.get("resourceName") or ""
    if container is None:
        why = "must match the name of a container"
        yield field_errors.invalid(f"{at}.containerName", name, why)
    elif resource not in ((container.get("resources") or {}).get("requests") or {}):
        why = "must match an extended resource that the container requests"
        yield field_errors.invalid(f"{at}.resourceName", resource, why)


_MAPPING_KEYS = ("containerName", "resourceName", "requestName")
_STATUS = rules.fields(
    ("conditions", lambda items, _: _condition_types(items)),
    (
        "resourceClaimStatuses",
        rules.items(
            rules.fields(("resourceClaimName", rules.filled(_SUBDOMAIN))),
            key=rules.name_of,
            key_field="name",
        ),
    ),
)


def _condition_types(items: Sequence[Document] | None) -> Iterator[Cause]:
    # Upstream writes the field's name as in Go.
    for index, condition in enumerate(items or ()):
        yield from _QUALIFIED(condition.get("type"), f"status.conditions[{index}].Type")
