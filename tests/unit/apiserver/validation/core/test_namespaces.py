"""Namespaces: their finalizers."""

from typing import Any

from harness.apiserver.registry import resource_strategies
from harness.apiserver.scheme import resources
from harness.apiserver.validation.core import small_kinds


def test_finalizers_are_known_or_have_a_domain(fields: Any) -> None:
    found = {"spec": {"finalizers": ["kubernetes", "a.b/c", "other"]}}
    assert fields(small_kinds.namespace(found)) == [("spec.finalizers", "Invalid")]


def test_the_servers_own_finalizer_joins_others() -> None:
    document: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.b/c"]}}
    resource_strategies.prepare_create(resources.NAMESPACES, document, now="")
    assert document["spec"]["finalizers"] == ["a.b/c", "kubernetes"]
