"""PriorityClasses, leases, namespaces, nodes, ConfigMaps, and events."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import object_names
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import (
    field_rules,
    formats,
    object_meta,
    resource_requirements,
)

PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
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
        yield from _system_class(name, value, is_default=bool(document.get("globalDefault")))
    elif value > USER_VALUE_MAX:
        why = f"maximum allowed value of a user defined priority is {USER_VALUE_MAX}"
        yield field_errors.forbidden("value", why)
    if (policy := document.get("preemptionPolicy")) == "":
        yield field_errors.required("preemptionPolicy")
    else:
        yield from field_rules.enum(policy, "preemptionPolicy", PREEMPTION_POLICIES)


def priority_class_change(document: Document, old: Document) -> Iterator[Cause]:
    """Reject changes of `value` and `preemptionPolicy`."""
    if (document.get("value") or 0) != (old.get("value") or 0):
        yield field_errors.forbidden("value", "may not be changed in an update.")
    policy = document.get("preemptionPolicy")
    if policy != old.get("preemptionPolicy"):
        yield field_errors.immutable("preemptionPolicy", policy)


def _system_class(name: str, value: int, *, is_default: bool) -> Iterator[Cause]:
    known = _SYSTEM_VALUES.get(name)
    if known is None:
        error = f"{name} is not a known system priority class"
    elif value != known:
        error = f"value of {name} PriorityClass must be {known}"
    elif is_default:
        error = f"globalDefault of {name} PriorityClass must be false"
    else:
        return
    why = f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {error}"
    yield field_errors.forbidden("metadata.name", why)


def lease(document: Document) -> Iterator[Cause]:
    """Validate a Lease."""
    spec = document.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield field_errors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        why = "must be greater than or equal to 0"
        yield field_errors.invalid("spec.leaseTransitions", transitions, why)


def namespace(document: Document) -> Iterator[Cause]:
    """Validate the finalizers of a Namespace, at creation and for the `finalize` subresource."""
    for name in (document.get("spec") or {}).get("finalizers") or ():
        yield from formats.check("spec.finalizers", name, formats.qualified_name)
        if "/" not in name and name not in object_meta.FINALIZERS:
            yield field_errors.invalid("spec.finalizers", name, object_meta.UNKNOWN_FINALIZER)


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNIQUE = "taints must be unique by key and effect pair"


def node(document: Document) -> Iterator[Cause]:
    """Validate a node."""
    # kube-apiserver reports taints at `metadata.taints`.
    spec, status = document.get("spec") or {}, document.get("status") or {}
    yield from _taints(spec.get("taints") or [], "metadata.taints")
    for key in ("capacity", "allocatable"):
        for name, amount in (status.get(key) or {}).items():
            yield from resource_requirements.amount(name, amount, f"status.{key}.{name}")
    yield from _pod_cidrs(spec.get("podCIDRs") or [], "spec.podCIDRs")


def node_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated node."""
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    yield from node(document)
    known = before.get("podCIDRs") or []
    if known and (spec.get("podCIDRs") or []) != known:
        why = 'node updates may not change podCIDR except from "" to valid'
        yield field_errors.forbidden("spec.podCIDRs", why)
    if (provider := before.get("providerID")) and (spec.get("providerID") or "") != provider:
        why = 'node updates may not change providerID except from "" to valid'
        yield field_errors.forbidden("spec.providerID", why)


def _pod_cidrs(cidrs: list[str], at: str) -> Iterator[Cause]:
    """Validate pod CIDRs: at most one of each IP family."""
    for index, value in enumerate(cidrs):
        yield from formats.check(f"{at}[{index}]", value, formats.cidr)
    if len(cidrs) < 2:
        return
    if len(cidrs) > 2 or len({":" in value for value in cidrs}) == 1:
        why = "may specify no more than one CIDR for each IP family"
        yield field_errors.invalid(at, cidrs, why)
    yield from field_rules.duplicates(cidrs, at)


def _taints(taints: list[Document], at: str) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        yield from _taint(taint, f"{at}[{index}]")
        key = (taint.get("key") or "", taint.get("effect") or "")
        if key in seen:
            yield field_errors.duplicate_because(f"{at}[{index}]", taint, _UNIQUE)
            return
        seen.add(key)


def _taint(taint: Document, at: str) -> Iterator[Cause]:
    yield from formats.check(f"{at}.key", taint.get("key") or "", formats.qualified_name)
    yield from formats.check(f"{at}.value", taint.get("value") or "", formats.label_value)
    effect = taint.get("effect") or ""
    if not effect:
        yield field_errors.required(f"{at}.effect")
    elif effect not in _EFFECTS:
        yield field_errors.unsupported(f"{at}.effect", effect, _EFFECTS)


BYTES_MAX = 1024 * 1024
"""Total size in bytes of the values of one object, base64 decoded."""
_FROZEN = "field is immutable when `immutable` is set"


def config_map(document: Document) -> Iterator[Cause]:
    """Validate the keys and the size of a ConfigMap."""
    data, binary = document.get("data") or {}, document.get("binaryData") or {}
    for part, values in (("data", data), ("binaryData", binary)):
        for key in values:
            yield from formats.check(f"{part}[{key}]", key, formats.config_key)
    for key in data.keys() & binary.keys():
        yield field_errors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    size = sum(len((value or "").encode()) for value in data.values())
    size += sum(len((value or "").rstrip("=")) * 3 // 4 for value in binary.values())
    if size > BYTES_MAX:
        yield field_errors.too_long("[]", BYTES_MAX)


def config_map_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated ConfigMap; an `immutable` one keeps its data."""
    if old.get("immutable"):
        for key in ("immutable", "data", "binaryData"):
            if not field_rules.semantically_equal(document.get(key), old.get(key)):
                yield field_errors.forbidden(key, _FROZEN)
    yield from config_map(document)


TEXT_MAX = 128
"""Bytes of `action`, `reason` and `reportingInstance`."""
MESSAGE_MAX = 1024
"""Bytes of `message`."""
COUNT_MIN = 2
"""The smallest count of an event series."""
_TYPES = ("Normal", "Warning")
_OLD_FIELDS = ("firstTimestamp", "lastTimestamp", "count")


def event(document: Document) -> Iterator[Cause]:
    """Validate a new event of the core group."""
    return _event(document, "reportingComponent")


def _event(document: Document, controller: str) -> Iterator[Cause]:
    """Validate the fields that both groups share.

    Events with an `eventTime` have to meet the stricter rules of events.k8s.io. `controller` is the
    name of the field `reportingComponent` in the group of the request.
    """
    place = (document.get("involvedObject") or {}).get("namespace") or ""
    namespace, styled = document["metadata"].get("namespace") or "", bool(document.get("eventTime"))
    anywhere = ("default", "kube-system") if styled else ("default",)
    if (not place and namespace not in anywhere) or (place and place != namespace and not styled):
        yield field_errors.invalid(
            "involvedObject.namespace", place, "does not match event.namespace"
        )
    if styled:
        yield from _styled(document, controller)


def new_event(document: Document) -> Iterator[Cause]:
    """Validate a new event of events.k8s.io, already converted to the core group."""
    yield from _event(document, "reportingController")
    name = document["metadata"].get("name") or ""
    yield from formats.check("metadata.name", name, object_names.subdomain_problems)
    if not document.get("eventTime"):
        yield field_errors.required("eventTime")
    if (series := document.get("series")) is not None:
        yield from _series(series)
    if (kind := document.get("type") or "") not in _TYPES:
        yield field_errors.invalid("type", "", f"has invalid value: {kind}")
    for key in _OLD_FIELDS:
        if document.get(key):
            yield field_errors.invalid(key, "", "needs to be unset")


def _series(series: Document) -> Iterator[Cause]:
    if (series.get("count") or 0) < COUNT_MIN:
        yield field_errors.invalid("series.count", "", f"should be at least {COUNT_MIN}")
    if not series.get("lastObservedTime"):
        yield field_errors.required("series.lastObservedTime")


def _styled(document: Document, at: str) -> Iterator[Cause]:
    controller = document.get("reportingComponent") or ""
    if not controller:
        yield field_errors.required(at)
    yield from formats.check(at, controller, formats.qualified_name)
    for key in ("reportingInstance", "action", "reason"):
        text = document.get(key) or ""
        if not text:
            yield field_errors.required(key)
        elif len(text.encode()) > TEXT_MAX:
            yield field_errors.invalid(key, "", f"can have at most {TEXT_MAX} characters")
    if len((document.get("message") or "").encode()) > MESSAGE_MAX:
        yield field_errors.invalid("message", "", f"can have at most {MESSAGE_MAX} characters")
