"""Device taints, their tolerations, and DeviceTaintRules."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import dra_names
from harness.apiserver.validation.field import conditions, formats

EFFECTS = ("NoExecute", "NoSchedule", "None")
OPERATORS = ("Equal", "Exists")
TAINTS_MAX = 16
"""Taints of one device."""


def taint(document: Document, at: str, *, old: Document | None = None) -> Iterator[Cause]:
    """Validate a taint. An effect that `old` has too is accepted, even if it is unknown."""
    yield from formats.check(f"{at}.key", document.get("key") or "", formats.qualified_name)
    if value := document.get("value"):
        yield from formats.check(f"{at}.value", value, formats.label_value)
    effect = document.get("effect") or ""
    if old is not None and effect == (old.get("effect") or ""):
        return
    if not effect:
        yield field_errors.required(f"{at}.effect")
    elif effect not in EFFECTS:
        yield field_errors.unsupported(f"{at}.effect", effect, EFFECTS)


def toleration(document: Document, at: str) -> Iterator[Cause]:
    """Validate a toleration of a request or an allocation result."""
    if key := document.get("key"):
        yield from formats.check(f"{at}.key", key, formats.qualified_name)
    yield from _toleration_value(document, at)
    effect = document.get("effect")
    if effect and effect not in EFFECTS:
        yield field_errors.unsupported(f"{at}.effect", effect, EFFECTS)


def tolerations(documents: list[Document], at: str) -> Iterator[Cause]:
    """Validate a list of tolerations."""
    for index, document in enumerate(documents):
        yield from toleration(document, f"{at}[{index}]")


def _toleration_value(document: Document, at: str) -> Iterator[Cause]:
    value = document.get("value") or ""
    match document.get("operator") or "":
        case "Exists":
            if value:
                yield field_errors.invalid(
                    f"{at}.value", value, "must be empty for operator `Exists`"
                )
        case "Equal":
            yield from formats.check(f"{at}.value", value, formats.label_value)
        case "":
            yield field_errors.required(f"{at}.operator")
        case operator:
            yield field_errors.unsupported(f"{at}.operator", operator, OPERATORS)


def taint_rule(document: Document, old: Document | None = None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    selector, at = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    if (driver := selector.get("driver")) is not None:
        yield from dra_names.driver_causes(f"{at}.driver", driver)
    if (pool := selector.get("pool")) is not None:
        yield from dra_names.pool_causes(f"{at}.pool", pool)
    if (device := selector.get("device")) is not None:
        yield from formats.check(f"{at}.device", device, formats.label)
    before = ((old.get("spec") or {}).get("taint") or {}) if old else None
    yield from taint(spec.get("taint") or {}, "spec.taint", old=before)


def taint_rule_status(document: Document, _old: Document) -> Iterator[Cause]:
    reported = (document.get("status") or {}).get("conditions") or []
    yield from conditions.condition_list(reported, "status.conditions")
    if len(reported) > conditions.DEVICE_CONDITIONS_MAX:
        yield field_errors.too_many(
            "status.conditions", len(reported), conditions.DEVICE_CONDITIONS_MAX
        )
