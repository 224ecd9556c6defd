"""DeviceClasses."""

from collections.abc import Iterator

from harness.apiserver.codec import go_values
from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.cel import cel_selectors
from harness.apiserver.validation.field import field_rules, formats, resource_requirements

CONFIGURATIONS_MAX = 32
OPAQUE_BYTES_MAX = 10 * 1024


def device_class(document: Document, old: Document | None = None) -> Iterator[Cause]:
    """A new or changed class; selectors and configuration that did not change are not looked at again."""
    spec, before = document.get("spec") or {}, (old or {}).get("spec") or {}
    selectors, configs = spec.get("selectors") or [], spec.get("config") or []
    kept = old is not None and field_rules.semantically_equal(
        selectors, before.get("selectors") or []
    )
    if too_long := list(cel_selectors.total_length(spec, "spec")):
        yield from too_long
        return
    yield from cel_selectors.selector_list(selectors, "spec.selectors", stored=kept)
    kept = old is not None and field_rules.semantically_equal(configs, before.get("config") or [])
    yield from field_rules.max_items(
        configs,
        "spec.config",
        CONFIGURATIONS_MAX,
        lambda document, at: configuration(document, at, stored=kept),
    )
    name = spec.get("extendedResourceName")
    if name is not None and not resource_requirements.is_extended(name):
        why = "must be a valid extended resource name"
        yield field_errors.invalid("spec.extendedResourceName", name, why)


def configuration(document: Document, at: str, *, stored: bool = False) -> Iterator[Cause]:
    """What one driver is told; of what is stored already the size does not count."""
    opaque = document.get("opaque")
    if opaque is None:
        yield field_errors.required(f"{at}.opaque")
        return
    yield from formats.driver_causes(f"{at}.opaque.driver", opaque.get("driver"))
    yield from raw(opaque.get("parameters"), f"{at}.opaque.parameters", stored=stored)


def raw(value: object, at: str, *, stored: bool = False) -> Iterator[Cause]:
    """An object that the server does not look into."""
    if value is None:
        yield field_errors.required(at)
    elif not stored and len(go_values.json(value)) > OPAQUE_BYTES_MAX:
        yield field_errors.too_long(at, OPAQUE_BYTES_MAX)
    elif not isinstance(value, dict):
        yield field_errors.omitted(at, "must be a valid JSON object")
