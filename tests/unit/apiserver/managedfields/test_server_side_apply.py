"""Server-side apply: conflicts, force, what is dropped, and what is refused."""

from typing import Any

import pytest

from harness.apiserver import json_codec
from harness.apiserver.managedfields import server_side_apply
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


def test_a_map_of_which_nothing_is_left_is_gone(apply: Applier, live: Document) -> None:
    assert "data" not in apply(config(), "one")


def test_what_another_owns_too_is_kept(apply: Applier, live: Document) -> None:
    apply(config(b="2"), "two")
    assert apply(config(a="1"), "one")["data"] == {"a": "1", "b": "2"}


def test_what_nobody_applied_is_left_alone(store: Any, apply: Applier, live: Document) -> None:
    store.patch(R.CONFIGMAPS, "default", "c", lambda d: d | {"data": d["data"] | {"manual": "x"}})
    assert apply(config(b="2"), "one")["data"] == {"b": "2", "manual": "x"}


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


def test_nothing_can_be_applied_to_the_status_of_nothing(store: Any, refuses: Any) -> None:
    with refuses(404, "NotFound"):
        Applier(store, R.CLAIMS, "status")({"metadata": {"name": "c"}}, "one")


# ---------------------------------------------------------------- bodies


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
