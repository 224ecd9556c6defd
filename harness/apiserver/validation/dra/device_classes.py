"""DeviceClasses."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.rules import causes, comparing, configurations, expressions, formats, lists
from harness.apiserver.statuses import Cause

Document = dict[str, Any]
_NATIVE_DOMAIN = "kubernetes.io/"
_QUOTA_PREFIX = "requests."


def device_class(document: Document, old: Document | None = None) -> Iterator[Cause]:
    """A new or changed class; selectors and configuration that did not change are not looked at again."""
    spec, before = document.get("spec") or {}, (old or {}).get("spec") or {}
    selectors, configs = spec.get("selectors") or [], spec.get("config") or []
    kept = old is not None and comparing.same(selectors, before.get("selectors") or [])
    if too_long := list(expressions.together(spec, "spec")):
        yield from too_long
        return
    yield from expressions.selectors(selectors, "spec.selectors", stored=kept)
    kept = old is not None and comparing.same(configs, before.get("config") or [])
    yield from lists.limited(
        configs,
        "spec.config",
        configurations.CONFIGURATIONS_MAX,
        lambda document, at: configurations.configuration(document, at, stored=kept),
    )
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource(name):
        why = "must be a valid extended resource name"
        yield causes.invalid("spec.extendedResourceName", name, why)


def is_extended_resource(name: str) -> bool:
    """Whether a resource of this name is a cluster's own and not one of Kubernetes."""
    if "/" not in name or _NATIVE_DOMAIN in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not formats.qualified_name(_QUOTA_PREFIX + name)
