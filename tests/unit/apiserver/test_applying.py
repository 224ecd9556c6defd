"""Server-side apply: owners of fields, conflicts, force, and what is dropped."""

from typing import Any

import pytest

from harness.apiserver import applying, resources

R = resources
Document = dict[str, Any]


def config(labels: dict[str, str] | None = None, **data: str) -> Document:
    meta: Document = {"name": "c"} | ({"labels": labels} if labels else {})
    return {"metadata": meta, "data": data}


def apply(live: Document, applied: Document, manager: str, **options: Any) -> Document:
    settings = {"force": False, "now": "2026-01-01T00:00:00Z"} | options
    return applying.apply(R.CONFIGMAPS, live, applied, manager=manager, **settings)


def managers(document: Document) -> dict[str, Document]:
    return {e["manager"]: e["fieldsV1"] for e in document["metadata"]["managedFields"]}


@pytest.fixture
def live() -> Document:
    return apply({"metadata": {"name": "c"}}, config(a="1", b="2"), "one")


def test_the_applier_owns_what_it_applied(live: Document) -> None:
    assert live["data"] == {"a": "1", "b": "2"}
    assert managers(live) == {"one": {"f:data": {"f:a": {}, "f:b": {}}}}
    entry = live["metadata"]["managedFields"][0]
    assert (entry["operation"], entry["fieldsType"]) == ("Apply", "FieldsV1")


def test_applying_the_same_again_changes_nothing(live: Document) -> None:
    assert apply(live, config(a="1", b="2"), "one") == live


def test_what_is_no_longer_applied_is_removed(live: Document) -> None:
    assert apply(live, config(a="1"), "one")["data"] == {"a": "1"}


def test_what_another_owns_too_is_kept(live: Document) -> None:
    both = apply(live, config(b="2"), "two")
    assert apply(both, config(a="1"), "one")["data"] == {"a": "1", "b": "2"}


def test_what_nobody_applied_is_left_alone(live: Document) -> None:
    live["data"]["manual"] = "x"
    assert apply(live, config(b="2"), "one")["data"] == {"b": "2", "manual": "x"}


def test_a_conflict_names_the_manager_and_the_field(live: Document, refuses: Any) -> None:
    with refuses(409, "Conflict", 'conflict with "one": .data.a') as caught:
        apply(live, config(a="other"), "two")
    assert caught.value.details["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"}
    ]


def test_force_takes_the_field_over(live: Document) -> None:
    taken = apply(live, config(a="other"), "two", force=True)
    assert taken["data"] == {"a": "other", "b": "2"}
    assert managers(taken) == {"one": {"f:data": {"f:b": {}}}, "two": {"f:data": {"f:a": {}}}}


def test_the_same_value_is_no_conflict(live: Document) -> None:
    shared = apply(live, config(a="1"), "two")
    assert "f:a" in managers(shared)["one"]["f:data"]
    assert "f:a" in managers(shared)["two"]["f:data"]


def test_two_conflicts_are_told_together(live: Document, refuses: Any) -> None:
    with refuses(409, "Conflict", "2 conflicts") as caught:
        apply(live, config(a="x", b="y"), "two")
    assert [cause["field"] for cause in caught.value.details["causes"]] == [".data.a", ".data.b"]


def test_items_of_a_list_map_have_owners_of_their_own() -> None:
    def status(*uids: str) -> Document:
        return {"metadata": {"name": "c"}, "status": {"reservedFor": [{"uid": u} for u in uids]}}

    def apply_status(live: Document, applied: Document, manager: str) -> Document:
        return applying.apply(
            R.CLAIMS,
            live,
            applied,
            manager=manager,
            force=False,
            now="2026-01-01T00:00:00Z",
            subresource="status",
        )

    one = apply_status({"metadata": {"name": "c"}}, status("a"), "one")
    both = apply_status(one, status("b"), "two")
    assert both["status"]["reservedFor"] == [{"uid": "a"}, {"uid": "b"}]
    left = apply_status(both, status(), "one")
    assert left["status"]["reservedFor"] == [{"uid": "b"}]


def test_values_of_a_set_have_owners_of_their_own() -> None:
    def finalizers(*names: str) -> Document:
        return {"metadata": {"name": "c", "finalizers": list(names)}}

    one = apply({"metadata": {"name": "c"}}, finalizers("x/1"), "one")
    both = apply(one, finalizers("x/2"), "two")
    assert both["metadata"]["finalizers"] == ["x/1", "x/2"]
    assert apply(both, finalizers(), "one")["metadata"]["finalizers"] == ["x/2"]


def test_identity_is_not_applied(live: Document) -> None:
    live["metadata"]["uid"] = "real"
    applied = config(a="1", b="2")
    applied["metadata"] |= {"uid": "mine", "creationTimestamp": None}
    assert apply(live, applied, "one")["metadata"]["uid"] == "real"
