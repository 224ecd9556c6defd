"""Server-side apply: conflicts, force, what is dropped, and what is refused."""

from typing import Any

import pytest

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
        stored, _ = self.store.apply(
            self.resource,
            "default",
            "c",
            server_side_apply.read(self.resource, kind | document),
            manager=manager,
            force=force,
            subresource=self.subresource,
        )
        return stored.document()  # type: ignore[no-any-return]


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


def test_an_object_of_which_nobody_was_remembered_counts_as_one_more_manager(
    apply: Applier, store: Any, refuses: Any
) -> None:
    store.create(R.CONFIGMAPS, "default", config(a="1"))
    forgetting = config(a="1") | {"metadata": {"name": "c", "managedFields": []}}
    store.update(R.CONFIGMAPS, "default", "c", forgetting)
    with refuses(409, "Conflict", 'conflict with "before-first-apply": .data.a'):
        apply(config(a="2"), "one")


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
    with refuses(500, "", problem):
        named = {"apiVersion": "v1", "kind": "ConfigMap"}
        server_side_apply.read(R.CONFIGMAPS, named | document)
