"""DeviceClasses, and the opaque driver configuration that claims and allocations have as well."""

from collections.abc import Iterator

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.cel import cel_selectors
from harness.apiserver.validation.dra import dra_names
from harness.apiserver.validation.field import field_rules, resource_requirements

CONFIGURATIONS_MAX = 32
"""Configurations in one class or claim."""
OPAQUE_BYTES_MAX = 10 * 1024
"""Size in bytes of opaque parameters or device data, as JSON."""


def device_class(document: Document, old: Document | None = None) -> Iterator[Cause]:
    """Validate a DeviceClass.

    On update, unchanged selectors are not compiled again, and the size of unchanged configuration
    is not checked.
    """
    spec, before = document.get("spec") or {}, (old or {}).get("spec") or {}
    selectors, configs = spec.get("selectors") or [], spec.get("config") or []
    same_selectors = old is not None and field_rules.semantically_equal(
        selectors, before.get("selectors") or []
    )
    yield from cel_selectors.selector_list(selectors, "spec.selectors", stored=same_selectors)
    same_configs = old is not None and field_rules.semantically_equal(
        configs, before.get("config") or []
    )
    yield from field_rules.max_items(
        configs,
        "spec.config",
        CONFIGURATIONS_MAX,
        lambda document, at: configuration(document, at, stored=same_configs),
    )
    name = spec.get("extendedResourceName")
    if name is not None and not resource_requirements.is_extended(name):
        why = "must be a valid extended resource name"
        yield field_errors.invalid("spec.extendedResourceName", name, why)


def configuration(document: Document, at: str, *, stored: bool = False) -> Iterator[Cause]:
    """Validate the configuration for a driver; the size of a stored one is not checked."""
    opaque = document.get("opaque")
    if opaque is None:
        yield field_errors.required(f"{at}.opaque")
        return
    yield from dra_names.driver_causes(f"{at}.opaque.driver", opaque.get("driver"))
    yield from raw(opaque.get("parameters"), f"{at}.opaque.parameters", stored=stored)


def raw(value: object, at: str, *, stored: bool = False) -> Iterator[Cause]:
    """Require a JSON object (`runtime.RawExtension`) of limited size."""
    if value is None:
        yield field_errors.required(at)
    elif not stored and len(json_codec.encode(value)) > OPAQUE_BYTES_MAX:
        yield field_errors.too_long(at, OPAQUE_BYTES_MAX)
    elif not isinstance(value, dict):
        yield field_errors.omitted(at, "must be a valid JSON object")
