"""Validation of metadata."""

from typing import Any

import pytest

from harness.apiserver.scheme import resources
from harness.apiserver.validation import metadata
from tests.support import cases

R = resources
Document = dict[str, Any]


def test_new_objects(fields: Any) -> None:
    too_long = ({"annotations": {"a": "x" * 262144}}, ["annotations"])
    for meta, wrong in [*cases.read(__file__, "new"), too_long]:
        found = fields(metadata.new(R.CONFIGMAPS, {"name": "a", **meta}))
        assert [field for field, _ in found] == [f"metadata.{field}" for field in wrong], meta


@pytest.mark.parametrize(
    ("resource", "good", "bad"),
    [
        (R.NAMESPACES, "a", "a.b"),
        (R.PODS, "a.b", "A"),
        (R.EVENTS, "Any_thing at all", "a/b"),
        (R.find("", "v1", "services"), "a", "a.b"),
        (R.find("rbac.authorization.k8s.io", "v1", "clusterroles"), "system:Admin", ".."),
    ],
)
def test_names_of_each_kind(fields: Any, resource: Any, good: str, bad: str) -> None:
    assert fields(metadata.new(resource, {"name": good})) == []
    assert fields(metadata.new(resource, {"name": bad})) == [("metadata.name", "Invalid")]


def test_what_never_changes(fields: Any) -> None:
    old = {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "t"}
    assert fields(metadata.changed(R.CONFIGMAPS, dict(old), old)) == []
    found = fields(
        metadata.changed(R.CONFIGMAPS, {**old, "uid": "v", "creationTimestamp": "t2"}, old)
    )
    assert found == [("metadata.uid", "Invalid"), ("metadata.creationTimestamp", "Invalid")]


def test_finalizers_of_what_is_being_deleted(fields: Any) -> None:
    old = {"deletionTimestamp": "t", "finalizers": ["x/a", "x/b"]}
    assert (
        fields(
            metadata.changed(R.CONFIGMAPS, {"deletionTimestamp": "t", "finalizers": ["x/b"]}, old)
        )
        == []
    )
    more = {"deletionTimestamp": "t", "finalizers": ["x/a", "x/c"]}
    assert fields(metadata.changed(R.CONFIGMAPS, more, old)) == [
        ("metadata.finalizers", "Forbidden")
    ]
