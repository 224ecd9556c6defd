"""Resuming, compaction, and selections that are entered and left."""

from collections.abc import Callable
from typing import Any

from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import selectors, watch_cache

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


def test_what_leaves_a_selection_is_shown_as_it_was_in_it(store: Any) -> None:
    store.create(R.CONFIGMAPS, "default", config("a", color="red"))
    start = store.resource_version
    left = store.update(R.CONFIGMAPS, "default", "a", config("a", color="blue"))
    red = watch_cache.Selection(resource=R.CONFIGMAPS, label=selectors.label_selector("color=red"))
    ((kind, stored),) = red.sees_all(store.commits_after(R.CONFIGMAPS, start))
    assert (kind, stored.resource_version) == ("DELETED", left.resource_version)
    assert stored.document()["metadata"]["labels"] == {"color": "red"}
