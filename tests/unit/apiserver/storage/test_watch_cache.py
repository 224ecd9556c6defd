"""Resuming, compaction, selections that are entered and left, and: folding the events gives the
list.
"""

import random
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
from hypothesis import stateful
from hypothesis import strategies as st

from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import field_selectors, label_selectors, watch_cache

R = resources


def config(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def kinds(commits: list[Any]) -> list[tuple[str, str]]:
    return [(commit.type, commit.object.name) for commit in commits]


def test_a_watch_resumes_after_any_version(store: Any) -> None:
    start = store.resource_version
    store.create(R.CONFIGMAPS, "default", config("a"))
    store.create(R.SECRETS, "default", config("noise"))
    store.update(R.CONFIGMAPS, "default", "a", config("a", x="y"))
    store.delete(R.CONFIGMAPS, "default", "a")
    all_of_them = [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert kinds(store.commits_after(R.CONFIGMAPS, start)) == all_of_them
    assert kinds(store.commits_after(R.CONFIGMAPS, start + 1)) == all_of_them[1:]
    assert kinds(store.commits_after(R.CONFIGMAPS, start + 2)) == all_of_them[1:]
    assert kinds(store.commits_after(R.CONFIGMAPS, start + 3)) == all_of_them[2:]
    assert store.commits_after(R.CONFIGMAPS, start + 4) == []


def test_a_deletion_carries_the_last_state_at_a_version_of_its_own(store: Any) -> None:
    store.create(R.CONFIGMAPS, "default", config("a", x="y"))
    before = store.resource_version
    store.delete(R.CONFIGMAPS, "default", "a")
    (commit,) = store.commits_after(R.CONFIGMAPS, before)
    assert commit.object.resource_version == before + 1
    assert commit.object.document()["metadata"]["labels"] == {"x": "y"}


def test_listeners_are_told_in_order_when_the_commit_is_done(store: Any) -> None:
    seen: list[tuple[int, bool]] = []
    store.listen(
        lambda commit: seen.append(
            (
                commit.object.resource_version,
                store.get(R.CONFIGMAPS, "default", commit.object.name) == commit.object,
            )
        )
    )
    for name in ("a", "b", "c"):
        store.create(R.CONFIGMAPS, "default", config(name))
    first = store.resource_version - 2
    assert seen == [(first, True), (first + 1, True), (first + 2, True)]


def test_compaction_ends_every_older_resume(store: Any, refuses: Any) -> None:
    start = store.resource_version
    store.create(R.CONFIGMAPS, "default", config("a"))
    store.create(R.SECRETS, "default", config("s"))
    store.compact(R.CONFIGMAPS)
    with refuses(410, "Expired", f"too old resource version: {start} ({start + 1})"):
        store.commits_after(R.CONFIGMAPS, start)
    assert store.commits_after(R.CONFIGMAPS, start + 1) == []
    assert kinds(store.commits_after(R.SECRETS, start)) == [("ADDED", "s")]


def test_history_is_bounded_for_each_resource(
    make_store: Callable[..., stores.Store], refuses: Any
) -> None:
    store = make_store(watch_history=3)
    start = store.resource_version
    store.create(R.SECRETS, "default", config("old"))
    for number in range(4):
        store.create(R.CONFIGMAPS, "default", config(f"c{number}"))
    with refuses(410, "Expired"):
        store.commits_after(R.CONFIGMAPS, start)
    assert len(store.commits_after(R.CONFIGMAPS, start + 2)) == 3
    assert kinds(store.commits_after(R.SECRETS, start)) == [("ADDED", "old")]


def test_lists_are_selected_and_ordered(store: Any) -> None:
    store.create(R.NAMESPACES, "", {"metadata": {"name": "a"}})
    for namespace, name in [("default", "z"), ("a", "y"), ("default", "b"), ("a", "x")]:
        store.create(R.CONFIGMAPS, namespace, config(name, place=namespace))

    def found(**selection: Any) -> list[tuple[str, str]]:
        chosen = watch_cache.Selection(resource=R.CONFIGMAPS, **selection)
        return [(item.namespace, item.name) for item in store.select(chosen)]

    everything = [("a", "x"), ("a", "y"), ("default", "b"), ("default", "z")]
    assert found() == everything
    assert found(namespace="a") == everything[:2]
    assert found(label=label_selectors.label_selector("place=default")) == everything[2:]
    assert found(field=field_selectors.field_selector(R.CONFIGMAPS, "metadata.name=y")) == [
        ("a", "y")
    ]


def test_what_enters_a_selection_is_added_and_what_leaves_it_is_deleted(store: Any) -> None:
    start = store.resource_version
    store.create(R.CONFIGMAPS, "default", config("a", color="red"))
    store.create(R.CONFIGMAPS, "default", config("b", color="blue"))
    store.update(R.CONFIGMAPS, "default", "b", config("b", color="red"))
    store.update(R.CONFIGMAPS, "default", "b", config("b", color="red", x="y"))
    store.update(R.CONFIGMAPS, "default", "a", config("a", color="blue"))
    store.delete(R.CONFIGMAPS, "default", "a")
    store.delete(R.CONFIGMAPS, "default", "b")
    red = watch_cache.Selection(
        resource=R.CONFIGMAPS, label=label_selectors.label_selector("color=red")
    )
    seen = red.sees_all(store.commits_after(R.CONFIGMAPS, start))
    assert [(kind, stored.name) for kind, stored in seen] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "b"),
        ("DELETED", "a"),
        ("DELETED", "b"),
    ]


def test_what_leaves_a_selection_is_shown_as_it_was_in_it(store: Any) -> None:
    store.create(R.CONFIGMAPS, "default", config("a", color="red"))
    start = store.resource_version
    left = store.update(R.CONFIGMAPS, "default", "a", config("a", color="blue"))
    red = watch_cache.Selection(
        resource=R.CONFIGMAPS, label=label_selectors.label_selector("color=red")
    )
    ((kind, stored),) = red.sees_all(store.commits_after(R.CONFIGMAPS, start))
    assert (kind, stored.resource_version) == ("DELETED", left.resource_version)
    assert stored.document()["metadata"]["labels"] == {"color": "red"}


def test_a_watch_of_one_namespace_sees_no_other(store: Any) -> None:
    start = store.resource_version
    store.create(R.CONFIGMAPS, "default", config("a"))
    store.create(R.CONFIGMAPS, "kube-system", config("b"))
    selection = watch_cache.Selection(resource=R.CONFIGMAPS, namespace="default")
    seen = selection.sees_all(store.commits_after(R.CONFIGMAPS, start))
    assert [stored.name for _, stored in seen] == ["a"]


NAMES = st.sampled_from(["a", "b", "c"])
COLORS = st.sampled_from(["red", "blue"])


class Watchers(stateful.RuleBasedStateMachine):
    """Writers against watchers that list at any time and resume from there."""

    def __init__(self) -> None:
        super().__init__()
        self.store = stores.Store(
            now=lambda: "2026-01-01T00:00:00Z", stream=random.Random(0), watch_history=12
        )
        self.selections = (
            watch_cache.Selection(resource=R.CONFIGMAPS),
            watch_cache.Selection(
                resource=R.CONFIGMAPS, label=label_selectors.label_selector("color=red")
            ),
        )
        self.copies: list[dict[str, bytes]] = [{}, {}]
        self.versions = [0, 0]
        for index in range(2):
            self.relist(index)

    @stateful.rule(name=NAMES, color=COLORS, held=st.booleans())
    def create(self, name: str, color: str, held: bool) -> None:
        document = config(name, color=color)
        if held:
            document["metadata"]["finalizers"] = ["x/1"]
        self.tolerate({409}, lambda: self.store.create(R.CONFIGMAPS, "default", document))

    @stateful.rule(name=NAMES, color=COLORS, age=st.integers(0, 2))
    def update(self, name: str, color: str, age: int) -> None:
        document = config(name, color=color)
        document["metadata"]["resourceVersion"] = str(self.store.resource_version - age)
        self.tolerate(
            {404, 409}, lambda: self.store.update(R.CONFIGMAPS, "default", name, document)
        )

    @stateful.rule(name=NAMES, color=COLORS)
    def patch(self, name: str, color: str) -> None:
        def change(document: dict[str, Any]) -> dict[str, Any]:
            document["metadata"]["labels"] = {"color": color}
            return document

        self.tolerate({404}, lambda: self.store.patch(R.CONFIGMAPS, "default", name, change))

    @stateful.rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.tolerate({404}, lambda: self.store.delete(R.CONFIGMAPS, "default", name))

    @stateful.rule()
    def compact(self) -> None:
        self.store.compact(R.CONFIGMAPS)

    @stateful.rule(index=st.integers(0, 1))
    def catch_up(self, index: int) -> None:
        """Fold what came since; after 410, list again."""
        selection, held = self.selections[index], self.copies[index]
        try:
            commits = self.store.commits_after(R.CONFIGMAPS, self.versions[index])
        except status_errors.StatusError as error:
            if error.code != 410:
                raise
            self.relist(index)
            return
        for commit in commits:
            assert commit.object.resource_version > self.versions[index]
            self.versions[index] = commit.object.resource_version
            self.fold(held, selection.sees(commit))
        assert held == self.listed(index)

    def fold(self, held: dict[str, bytes], seen: Any) -> None:
        if seen is None:
            return
        kind, stored = seen
        assert (stored.name in held) is (kind != "ADDED")
        if kind == "DELETED":
            del held[stored.name]
        else:
            held[stored.name] = stored.data

    def relist(self, index: int) -> None:
        self.copies[index] = self.listed(index)
        self.versions[index] = self.store.resource_version

    def listed(self, index: int) -> dict[str, bytes]:
        return {item.name: item.data for item in self.store.select(self.selections[index])}

    @staticmethod
    def tolerate(codes: set[int], call: Callable[[], object]) -> None:
        try:
            call()
        except status_errors.StatusError as error:
            if error.code not in codes:
                raise


TestWatchers = Watchers.TestCase
TestWatchers.settings = hypothesis.settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True, database=None
)
TestWatchers.pytestmark = [pytest.mark.filterwarnings("error")]  # type: ignore[attr-defined]
