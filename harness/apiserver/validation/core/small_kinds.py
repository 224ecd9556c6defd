"""PriorityClasses, leases and namespaces."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats, object_meta

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
