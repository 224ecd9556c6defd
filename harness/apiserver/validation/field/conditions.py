"""Conditions (`metav1.Condition`) and the binding conditions of devices."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

DEVICE_CONDITIONS_MAX = 8
"""Conditions in the status of a device or of a DeviceTaintRule."""
BINDING_MAX = 4
"""Entries in each list of binding conditions of a device."""
BINDING_FIELDS = frozenset({"bindingConditions", "bindingFailureConditions"})
REASON_BYTES_MAX = 1024
MESSAGE_BYTES_MAX = 32 * 1024
_STATUSES = ("False", "True", "Unknown")


def condition_list(documents: list[Document], at: str) -> Iterator[Cause]:
    """Reject invalid conditions and condition types that occur more than once."""
    seen: set[str] = set()
    for index, document in enumerate(documents):
        kind = document.get("type") or ""
        if kind in seen:
            yield field_errors.duplicate(f"{at}[{index}].type", kind)
        seen.add(kind)
        yield from _condition(document, f"{at}[{index}]")


def _condition(document: Document, at: str) -> Iterator[Cause]:
    yield from formats.check(f"{at}.type", document.get("type") or "", formats.qualified_name)
    status = document.get("status") or ""
    if status not in _STATUSES:
        yield field_errors.unsupported(f"{at}.status", status, _STATUSES)
    if (generation := document.get("observedGeneration") or 0) < 0:
        why = "must be greater than or equal to zero"
        yield field_errors.invalid(f"{at}.observedGeneration", generation, why)
    if not document.get("lastTransitionTime"):
        yield field_errors.required(f"{at}.lastTransitionTime")
    yield from formats.check_required(
        f"{at}.reason", document.get("reason"), formats.condition_reason
    )
    if len((document.get("reason") or "").encode()) > REASON_BYTES_MAX:
        yield field_errors.too_long(f"{at}.reason", REASON_BYTES_MAX)
    if len((document.get("message") or "").encode()) > MESSAGE_BYTES_MAX:
        yield field_errors.too_long(f"{at}.message", MESSAGE_BYTES_MAX)


def binding_conditions(document: Document, at: str) -> Iterator[Cause]:
    """Validate `bindingConditions` and `bindingFailureConditions` of a device.

    Both lists are set or neither, and no condition is in both.
    """
    conditions = document.get("bindingConditions") or []
    failures = document.get("bindingFailureConditions") or []
    if not conditions and not failures:
        return
    for items, name in ((conditions, "bindingConditions"), (failures, "bindingFailureConditions")):
        yield from field_rules.max_items(items, f"{at}.{name}", BINDING_MAX, _type)
    yield from field_rules.duplicates(conditions, f"{at}.bindingConditions")
    yield from _binding_failures(failures, conditions, f"{at}.bindingFailureConditions")
    if not conditions:
        why = "bindingConditions are required to use bindingFailureConditions"
        yield field_errors.invalid(
            f"{at}.bindingConditions", document.get("bindingConditions"), why
        )
    if not failures:
        why = "bindingFailureConditions are required to use bindingConditions"
        yield field_errors.invalid(
            f"{at}.bindingFailureConditions", document.get("bindingFailureConditions"), why
        )


def _type(name: str, at: str) -> list[Cause]:
    return formats.check(at, name, formats.qualified_name)


def _binding_failures(failures: list[str], conditions: list[str], at: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, name in enumerate(failures):
        if name in seen:
            yield field_errors.duplicate(f"{at}[{index}]", name)
        seen.add(name)
        if name in conditions:
            why = "bindingFailureConditions must not overlap with bindingConditions"
            yield field_errors.invalid(f"{at}[{index}]", name, why)
