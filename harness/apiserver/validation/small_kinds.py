"""Nodes, namespaces, ConfigMaps, events, leases and PodGroups."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.validation import dra_rules, formats, metadata, node_resources, pods, rules

_QUALIFIED, _SUBDOMAIN = rules.text(formats.qualified_name), rules.text(formats.subdomain)

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


def node(document: Document, *_: Document) -> Iterator[Cause]:
    """Validate the taints and the amounts of a node, new or updated."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    # kube-apiserver reports taints at `metadata.taints`.
    yield from _TAINTS(spec.get("taints"), "metadata.taints")
    for key in ("capacity", "allocatable"):
        for name, amount in (status.get(key) or {}).items():
            yield from node_resources.amount(name, amount, f"status.{key}.{name}")


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
pod_group = rules.whole(
    (
        "spec.schedulingPolicy",
        rules.fields(
            ("", rules.exactly_one(*_POLICIES)),
            ("gang", rules.given(rules.fields(("minCount", rules.required(rules.at_least(1)))))),
        ),
    ),
    ("spec.resourceClaims", rules.items(pods.CLAIM, 4, key=rules.name_of)),
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
