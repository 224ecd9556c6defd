"""Pods: what schedulers, claims and kubelets depend on. After pkg/apis/core/validation.

Not checked, as docs/reference/embedded-api-server.md says: volumes, ports, environment, probes,
security contexts, pod affinity, topology spread, DNS, readiness gates, namespaces of the host, and
the states of containers.
"""

from collections.abc import Iterator, Sequence
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
CLAIM = rules.fields(
    ("name", rules.required(_LABEL)),
    ("", rules.exactly_one(*_CLAIM_SOURCES)),
    *((key, rules.given(_SUBDOMAIN)) for key in _CLAIM_SOURCES),
)
"""Validates a claim of a pod or PodGroup."""
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
        ("resourceClaims", rules.items(CLAIM, key=rules.name_of, key_field="name")),
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
        why = "only images, activeDeadlineSeconds, tolerations and scheduling gates may change"
        yield field_errors.forbidden("spec", why)


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
    free = (*_FREE, *(_GATED_FREE if gated else ()))
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
    yield from claim_statuses(status, spec)
    extended = "extendedResourceClaimStatus"
    yield from rules.given(_extended_claim(spec))(status.get(extended), f"status.{extended}")


def claim_statuses(status: Document, spec: Document) -> Iterator[Cause]:
    """Require the claims in the status of a pod or PodGroup to be those of its spec."""
    known = {rules.name_of(claim) for claim in spec.get("resourceClaims") or ()}
    for index, item in enumerate(status.get("resourceClaimStatuses") or ()):
        if (name := rules.name_of(item)) not in known:
            at = f"status.resourceClaimStatuses[{index}].name"
            why = "must match the name of an entry in `spec.resourceClaims`"
            yield field_errors.invalid(at, name, why)


def _extended_claim(spec: Document) -> rules.Rule:
    """Return the rule of `extendedResourceClaimStatus`: it maps requests of the containers."""
    parts = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    requests = {
        rules.name_of(part): (part.get("resources") or {}).get("requests") or {} for part in parts
    }

    def known(mapping: Document, at: str) -> Iterator[Cause]:
        name, resource = (mapping.get(key) or "" for key in ("containerName", "resourceName"))
        if name not in requests:
            yield field_errors.invalid(f"{at}.containerName", name, "must be that of a container")
        elif resource not in requests[name]:
            why = "must be an extended resource that the container requests"
            yield field_errors.invalid(f"{at}.resourceName", resource, why)

    mapping = rules.fields(("", known), ("requestName", _LABEL))
    mappings = rules.items(mapping, key=lambda item: tuple(sorted(item.items())))
    return rules.fields(
        ("resourceClaimName", rules.required(_SUBDOMAIN)),
        ("requestMappings", rules.required(mappings)),
    )


_STATUS = rules.fields(
    # Upstream writes the field's name as in Go.
    ("conditions", rules.items(lambda item, at: _QUALIFIED(item.get("type"), f"{at}.Type"))),
    (
        "resourceClaimStatuses",
        rules.items(
            rules.fields(("resourceClaimName", rules.filled(_SUBDOMAIN))),
            key=rules.name_of,
            key_field="name",
        ),
    ),
)
