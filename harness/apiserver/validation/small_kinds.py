"""Nodes, namespaces, ConfigMaps, events, leases, PriorityClasses and PodGroups."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.validation import dra_rules, formats, metadata, node_resources, pods, rules

_QUALIFIED, _SUBDOMAIN = rules.text(formats.qualified_name), rules.text(formats.subdomain)

# ----------------------------------------------------------------- PriorityClasses


USER_VALUE_MAX = 1_000_000_000
"""The highest priority of a class that is not a system class."""
_SYSTEM = "system-"
_SYSTEM_VALUES = {
    "system-node-critical": 2 * USER_VALUE_MAX + 1000,
    "system-cluster-critical": 2 * USER_VALUE_MAX,
}


def priority_class(document: Document) -> Iterator[Cause]:
    """Validate a new PriorityClass. Names that begin with `system-` are reserved."""
    name, value = document["metadata"].get("name") or "", document.get("value") or 0
    if name.startswith(_SYSTEM):
        if _SYSTEM_VALUES.get(name) != value or document.get("globalDefault"):
            why = f"names with the prefix '{_SYSTEM}' are reserved for system use only"
            yield field_errors.forbidden("metadata.name", why)
    elif value > USER_VALUE_MAX:
        why = f"maximum allowed value of a user defined priority is {USER_VALUE_MAX}"
        yield field_errors.forbidden("value", why)
    if (policy := document.get("preemptionPolicy")) is not None:
        known = rules.required(rules.one_of(*pods.PREEMPTION_POLICIES))
        yield from known(policy, "preemptionPolicy")


def priority_class_change(document: Document, old: Document) -> Iterator[Cause]:
    """Reject changes of `value` and `preemptionPolicy`."""
    if (document.get("value") or 0) != (old.get("value") or 0):
        yield field_errors.forbidden("value", "may not be changed in an update.")
    yield from rules.immutable("preemptionPolicy")(document, old)


# -------------------------------------------------------- leases, namespaces, nodes


lease = rules.whole(
    ("spec.leaseDurationSeconds", rules.given(rules.at_least(1))),
    ("spec.leaseTransitions", rules.at_least(0)),
)


def namespace(document: Document) -> Iterator[Cause]:
    """Validate the finalizers of a Namespace, at creation and for the `finalize` subresource."""
    for name in (document.get("spec") or {}).get("finalizers") or ():
        yield from _QUALIFIED(name, "spec.finalizers")
        if "/" not in name and name not in metadata.FINALIZERS:
            yield field_errors.invalid("spec.finalizers", name, metadata.UNKNOWN_FINALIZER)


def node(document: Document) -> Iterator[Cause]:
    """Validate a node."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    # kube-apiserver reports taints at `metadata.taints`.
    yield from _TAINTS(spec.get("taints"), "metadata.taints")
    for key in ("capacity", "allocatable"):
        for name, amount in (status.get(key) or {}).items():
            yield from node_resources.amount(name, amount, f"status.{key}.{name}")
    cidrs, at = spec.get("podCIDRs") or [], "spec.podCIDRs"
    yield from rules.items(rules.text(formats.cidr), key=rules.itself)(cidrs, at)
    if len(cidrs) > len({":" in value for value in cidrs}):
        yield field_errors.invalid(at, cidrs, "may have no more than one CIDR of an IP family")


def node_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated node."""
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    yield from node(document)
    for key in ("podCIDRs", "providerID"):
        if before.get(key) and spec.get(key) != before[key]:
            yield field_errors.forbidden(f"spec.{key}", "may only change from nothing")


_TAINTS = rules.items(
    rules.fields(
        ("key", _QUALIFIED),
        ("value", rules.text(formats.label_value)),
        ("effect", rules.required(rules.one_of(*pods.NODE_EFFECTS))),
    ),
    key=lambda taint: (taint.get("key") or "", taint.get("effect") or ""),
)


# ---------------------------------------------------------------------- ConfigMaps


BYTES_MAX = 1024 * 1024
"""Total size in bytes of the values of one object, base64 decoded."""


def config_map(document: Document) -> Iterator[Cause]:
    """Validate the keys and the size of a ConfigMap."""
    data, binary = document.get("data") or {}, document.get("binaryData") or {}
    for part, values in (("data", data), ("binaryData", binary)):
        for key in values:
            yield from rules.text(formats.config_key)(key, f"{part}[{key}]")
    for key in data.keys() & binary.keys():
        yield field_errors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    size = sum(len((value or "").encode()) for value in data.values())
    size += sum(len((value or "").rstrip("=")) * 3 // 4 for value in binary.values())
    if size > BYTES_MAX:
        yield field_errors.too_long("[]", BYTES_MAX)


def config_map_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated ConfigMap; an `immutable` one keeps its data."""
    for key in ("immutable", "data", "binaryData") if old.get("immutable") else ():
        if not rules.semantically_equal(document.get(key), old.get(key)):
            yield field_errors.forbidden(key, "field is immutable when `immutable` is set")
    yield from config_map(document)


# -------------------------------------------------------------------------- events


def event(document: Document) -> Iterator[Cause]:
    """Validate a new event of the core group."""
    return _event(document, "reportingComponent")


def new_event(document: Document) -> Iterator[Cause]:
    """Validate a new event of events.k8s.io, already converted to the core group."""
    yield from _event(document, "reportingController")
    yield from _NEW_EVENT(document, "")


def _event(document: Document, controller: str) -> Iterator[Cause]:
    """Validate the fields that both groups share.

    Events with an `eventTime` have to meet the stricter rules of events.k8s.io. `controller` is the
    name of the field `reportingComponent` in the group of the request.
    """
    place = (document.get("involvedObject") or {}).get("namespace") or ""
    namespace, styled = document["metadata"].get("namespace") or "", bool(document.get("eventTime"))
    anywhere = ("default", "kube-system") if styled else ("default",)
    if (not place and namespace not in anywhere) or (place and place != namespace and not styled):
        why = "does not match event.namespace"
        yield field_errors.invalid("involvedObject.namespace", place, why)
    if styled:
        name = document.get("reportingComponent")
        yield from rules.required()(name, controller)
        yield from _QUALIFIED(name, controller)
        yield from _STYLED(document, "")


def _at_most(most: int) -> rules.Rule:
    why = f"can have at most {most} characters"
    return rules.wrong_if(lambda text: len((text or "").encode()) > most, why)


_STYLED = rules.fields(
    *((key, rules.required(_at_most(128))) for key in ("reportingInstance", "action", "reason")),
    ("message", _at_most(1024)),
)
_UNSET = rules.filled(rules.wrong_if(bool, "needs to be unset"))
_NEW_EVENT = rules.fields(
    ("metadata.name", _SUBDOMAIN),
    ("eventTime", rules.required()),
    (
        "series",
        rules.given(
            rules.fields(("count", rules.at_least(2)), ("lastObservedTime", rules.required()))
        ),
    ),
    ("type", rules.wrong_if(lambda kind: kind not in ("Normal", "Warning"), "has invalid value")),
    *((key, _UNSET) for key in ("firstTimestamp", "lastTimestamp", "count")),
)


# ----------------------------------------------------------------------- PodGroups


_POLICIES = ("basic", "gang")
_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
_GROUP_CLAIM = rules.fields(
    ("name", rules.required(dra_rules.LABEL)),
    ("", rules.exactly_one(*_SOURCES)),
    *((key, rules.given(_SUBDOMAIN)) for key in _SOURCES),
)
pod_group = rules.whole(
    (
        "spec.schedulingPolicy",
        rules.fields(
            ("", rules.exactly_one(*_POLICIES)),
            ("gang", rules.given(rules.fields(("minCount", rules.required(rules.at_least(1)))))),
        ),
    ),
    ("spec.resourceClaims", rules.items(_GROUP_CLAIM, 4, key=rules.name_of)),
)
_GROUP_KEPT = [
    rules.immutable(f"spec.{key}")
    for key in ("podGroupTemplateRef", "schedulingPolicy", "resourceClaims")
]
_GROUP_STATUS = rules.whole(
    ("status.conditions", dra_rules.CONDITIONS),
    (
        "status.resourceClaimStatuses",
        rules.items(rules.fields(("resourceClaimName", rules.filled(_SUBDOMAIN)))),
    ),
)


def pod_group_change(document: Document, old: Document) -> Iterator[Cause]:
    """Reject changes of the spec."""
    for kept in _GROUP_KEPT:
        yield from kept(document, old)


def pod_group_status(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated status."""
    yield from _GROUP_STATUS(document)
    yield from pods.claim_statuses(document.get("status") or {}, old["spec"])
