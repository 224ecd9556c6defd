"""Namespaces: their finalizers."""

from typing import Any

from harness.apiserver import resources, strategies
from harness.apiserver.rules import namespaces


def test_finalizers_are_known_or_have_a_domain(fields: Any) -> None:
    found = {"spec": {"finalizers": ["kubernetes", "a.b/c", "other"]}}
    assert fields(namespaces.namespace(found)) == [("spec.finalizers", "Invalid")]


def test_the_servers_own_finalizer_joins_others() -> None:
    document: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.b/c"]}}
    strategies.prepare_create(resources.NAMESPACES, document, now="")
    assert document["spec"]["finalizers"] == ["a.b/c", "kubernetes"]
