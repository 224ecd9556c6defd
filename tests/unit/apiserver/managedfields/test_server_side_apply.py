"""Server-side apply: conflicts, force, what is dropped, and what is refused."""

from typing import Any

import pytest

from harness.apiserver import json_codec
from harness.apiserver.managedfields import server_side_apply
from harness.apiserver.registry import object_deletion
from harness.apiserver.scheme import resources

R = resources
Document = dict[str, Any]


def config(labels: dict[str, str] | None = None, **data: str) -> Document:
    meta: Document = {"name": "c"} | ({"labels": labels} if labels else {})
    return {"metadata": meta, "data": data}


class Applier:
    """Applies configurations to one object."""

    def __init__(self, store: Any, resource: Any = R.CONFIGMAPS, subresource: str = "") -> None:
        self.store, self.resource, self.subresource = store, resource, subresource

    def __call__(self, document: Document, manager: str, *, force: bool = False) -> Document:
        kind = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        body = json_codec.encode(kind | document)
        stored, _ = self.store.apply(
            self.resource,
            "default",
            "c",
            server_side_apply.read(self.resource, body),
            manager=manager,
            force=force,
            subresource=self.subresource,
        )
        return stored.document()  # type: ignore[no-any-return]


def managers(document: Document) -> dict[str, Document]:
    return {e["manager"]: e["fieldsV1"] for e in document["metadata"].get("managedFields", [])}


@pytest.fixture
def apply(store: Any) -> Applier:
    return Applier(store)


@pytest.fixture
def live(apply: Applier) -> Document:
    return apply(config(a="1", b="2"), "one")


def test_the_applier_owns_what_it_applied(live: Document) -> None:
    assert live["data"] == {"a": "1", "b": "2"}
    assert managers(live) == {"one": {"f:data": {"f:a": {}, "f:b": {}}}}
    entry = live["metadata"]["managedFields"][0]
    assert (entry["operation"], entry["fieldsType"]) == ("Apply", "FieldsV1")


def test_applying_the_same_again_changes_nothing(apply: Applier, live: Document) -> None:
    assert apply(config(a="1", b="2"), "one") == live


def test_what_is_no_longer_applied_is_removed(apply: Applier, live: Document) -> None:
    assert apply(config(a="1"), "one")["data"] == {"a": "1"}


def test_a_map_of_which_nothing_is_left_is_gone(apply: Applier, live: Document) -> None:
    assert "data" not in apply(config(), "one")


def test_what_another_owns_too_is_kept(apply: Applier, live: Document) -> None:
    apply(config(b="2"), "two")
    assert apply(config(a="1"), "one")["data"] == {"a": "1", "b": "2"}


def test_what_nobody_applied_is_left_alone(store: Any, apply: Applier, live: Document) -> None:
    store.patch(R.CONFIGMAPS, "default", "c", lambda d: d | {"data": d["data"] | {"manual": "x"}})
    assert apply(config(b="2"), "one")["data"] == {"b": "2", "manual": "x"}


def test_a_conflict_names_the_manager_and_the_field(
    apply: Applier, live: Document, refuses: Any
) -> None:
    message = 'conflict with "one": .data.a'
    with refuses(409, "Conflict", message) as caught:
        apply(config(a="other"), "two")
    assert caught.value.details["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"}
    ]


def test_force_takes_the_field_over(apply: Applier, live: Document) -> None:
    taken = apply(config(a="other"), "two", force=True)
    assert taken["data"] == {"a": "other", "b": "2"}
    assert managers(taken) == {"one": {"f:data": {"f:b": {}}}, "two": {"f:data": {"f:a": {}}}}


def test_the_same_value_is_no_conflict(apply: Applier, live: Document) -> None:
    shared = apply(config(a="1"), "two")
    assert "f:a" in managers(shared)["one"]["f:data"]
    assert "f:a" in managers(shared)["two"]["f:data"]


def test_an_object_of_which_nobody_was_remembered_counts_as_one_more_manager(
    apply: Applier, store: Any, refuses: Any
) -> None:
    store.create(R.CONFIGMAPS, "default", config(a="1"))
    forgetting = config(a="1") | {"metadata": {"name": "c", "managedFields": []}}
    store.update(R.CONFIGMAPS, "default", "c", forgetting)
    with refuses(409, "Conflict", 'conflict with "before-first-apply" using v1: .data.a'):
        apply(config(a="2"), "one")


def test_items_of_a_list_map_have_owners_of_their_own(store: Any) -> None:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    store.create(R.CLAIMS, "default", {"metadata": {"name": "c"}, "spec": spec})
    results = [{"request": "r", "driver": "d.io", "pool": "p", "device": "x"}]
    allocated = {"status": {"allocation": {"devices": {"results": results}}}}
    store.patch(R.CLAIMS, "default", "c", lambda d: d | allocated, subresource="status")
    apply = Applier(store, R.CLAIMS, "status")

    def status(*uids: str) -> Document:
        users = [{"resource": "pods", "name": u, "uid": u} for u in uids]
        return {"metadata": {"name": "c"}, "status": {"reservedFor": users}}

    apply(status("a"), "one")
    both = apply(status("b"), "two")
    assert [item["uid"] for item in both["status"]["reservedFor"]] == ["a", "b"]
    left = apply(status(), "one")
    assert [item["uid"] for item in left["status"]["reservedFor"]] == ["b"]
    assert left["status"]["allocation"], "nobody's business"


def test_values_of_a_set_have_owners_of_their_own(apply: Applier) -> None:
    def finalizers(*names: str) -> Document:
        return {"metadata": {"name": "c", "finalizers": list(names)}}

    apply(finalizers("x/1"), "one")
    both = apply(finalizers("x/2"), "two")
    assert both["metadata"]["finalizers"] == ["x/1", "x/2"]
    assert apply(finalizers(), "one")["metadata"]["finalizers"] == ["x/2"]


def test_a_new_object_must_not_have_a_uid(apply: Applier, refuses: Any) -> None:
    with refuses(409, "Conflict", "the configuration has the uid mine"):
        apply({"metadata": {"name": "c", "uid": "mine"}}, "one")


def test_a_configuration_belongs_to_the_object_of_the_path(apply: Applier, refuses: Any) -> None:
    for meta in ({}, {"name": "d"}):
        with refuses(400, "BadRequest", "expected the name c as in the URL"):
            apply({"metadata": meta}, "one")


def test_a_stale_version_is_a_conflict(apply: Applier, live: Document, refuses: Any) -> None:
    meta = {"name": "c", "resourceVersion": live["metadata"]["resourceVersion"]}
    apply({"metadata": meta, "data": {"a": "2"}}, "one")
    with refuses(409, "Conflict", "the object has been modified"):
        apply({"metadata": meta, "data": {"a": "3"}}, "one")


def test_nothing_can_be_applied_to_the_status_of_nothing(store: Any, refuses: Any) -> None:
    with refuses(404, "NotFound"):
        Applier(store, R.CLAIMS, "status")({"metadata": {"name": "c"}}, "one")


def test_what_was_deleted_is_a_new_object(apply: Applier, live: Document, store: Any) -> None:
    store.delete(R.CONFIGMAPS, "default", "c", object_deletion.AS_USUAL)
    assert apply(config(a="1"), "one")["metadata"]["uid"] != live["metadata"]["uid"]


# ---------------------------------------------------------------- bodies


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'{"a": [',
        b'{"kind": "Secret", "apiVersion": "v1"}',
        b'{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"managedFields": []}}',
    ],
)
def test_bodies_that_are_no_configuration(body: bytes, refuses: Any) -> None:
    with refuses(400, "BadRequest"):
        server_side_apply.read(R.CONFIGMAPS, body)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"x": 1}, ".x: field not declared in schema"),
        ({"data": 1}, "data: expected an object, got int"),
        ({"data": {"a": True}}, "data: expected a str, got bool"),
        ({"immutable": "yes"}, "immutable: expected a bool, got str"),
        ({"metadata": {"finalizers": ["a", "a"]}}, "duplicate entries"),
        ({"metadata": {"ownerReferences": [{"name": "x"}]}}, "associative list with keys"),
    ],
)
def test_configurations_that_do_not_fit_their_type(
    document: Document, problem: str, refuses: Any
) -> None:
    body = json_codec.encode({"apiVersion": "v1", "kind": "ConfigMap"} | document)
    with refuses(500, "", problem):
        server_side_apply.read(R.CONFIGMAPS, body)
