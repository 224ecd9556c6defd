"""DeviceClasses."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.cel import cel_selectors
from harness.apiserver.validation.dra import opaque_config
from harness.apiserver.validation.field import formats, list_rules, semantic_equality

_NATIVE_DOMAIN = "kubernetes.io/"
_QUOTA_PREFIX = "requests."


def device_class(document: Document, old: Document | None = None) -> Iterator[Cause]:
    """A new or changed class; selectors and configuration that did not change are not looked at again."""
    spec, before = document.get("spec") or {}, (old or {}).get("spec") or {}
    selectors, configs = spec.get("selectors") or [], spec.get("config") or []
    kept = old is not None and semantic_equality.same(selectors, before.get("selectors") or [])
    if too_long := list(cel_selectors.together(spec, "spec")):
        yield from too_long
        return
    yield from cel_selectors.selectors(selectors, "spec.selectors", stored=kept)
    kept = old is not None and semantic_equality.same(configs, before.get("config") or [])
    yield from list_rules.limited(
        configs,
        "spec.config",
        opaque_config.CONFIGURATIONS_MAX,
        lambda document, at: opaque_config.configuration(document, at, stored=kept),
    )
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource(name):
        why = "must be a valid extended resource name"
        yield field_errors.invalid("spec.extendedResourceName", name, why)


def is_extended_resource(name: str) -> bool:
    """Whether a resource of this name is a cluster's own and not one of Kubernetes."""
    if "/" not in name or _NATIVE_DOMAIN in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not formats.qualified_name(_QUOTA_PREFIX + name)
