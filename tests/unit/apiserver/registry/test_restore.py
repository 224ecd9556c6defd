"""A store that goes on from a past is the store that it was: objects, versions, history, and what
was left to collect.
"""

from collections.abc import Callable
from typing import Any

from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

NAMESPACE = "default"
ALL_CONFIGMAPS = watch_cache.Selection(resource=resources.CONFIGMAPS)


def config(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}}


def changes_of(commits: list[watch_cache.Commit]) -> list[watch_cache.Change]:
    """The commits as they come back from a disk: from their bytes."""
    return [
        watch_cache.Change(commit.resource, commit.type, stored_objects.revive(commit.object.data))
        for commit in commits
    ]


def some_history(make_store: Callable[..., stores.Store]) -> tuple[stores.Store, list[Any]]:
    commits: list[watch_cache.Commit] = []
    store = make_store(listeners=[commits.append])
    first = store.create(resources.CONFIGMAPS, NAMESPACE, config("a", labels={"x": "1"}))
    store.create(resources.CONFIGMAPS, NAMESPACE, config("b"))
    changed = first.document() | {"data": {"k": "v"}}
    store.update(resources.CONFIGMAPS, NAMESPACE, "a", changed)
    store.delete(resources.CONFIGMAPS, NAMESPACE, "b")
    return store, commits


def test_everything_comes_back_wherever_the_past_is_cut(
    make_store: Callable[..., stores.Store],
) -> None:
    store, commits = some_history(make_store)
    for count in range(len(commits) + 1):
        tables: dict[Any, Any] = {}
        for commit in commits[:count]:
            key = (commit.resource, commit.object.namespace, commit.object.name)
            tables[key] = commit
            if commit.type == "DELETED":
                del tables[key]
        past = watch_cache.Past(
            version=count,
            objects=[(commit.resource, commit.object) for commit in tables.values()],
            changes=changes_of(commits[count:]),
        )
        again = make_store(past=past)
        assert again.resource_version == store.resource_version
        assert again.select(ALL_CONFIGMAPS) == store.select(ALL_CONFIGMAPS)
        known = again.commits_after(resources.CONFIGMAPS, max(count, 4))
        assert known == store.commits_after(resources.CONFIGMAPS, max(count, 4))


def test_versions_go_on_and_what_is_older_than_the_past_is_410(
    make_store: Callable[..., stores.Store], refuses: Any
) -> None:
    store, commits = some_history(make_store)
    objects = [(resources.CONFIGMAPS, stored) for stored in store.select(ALL_CONFIGMAPS)]
    namespaces = store.select(watch_cache.Selection(resource=resources.NAMESPACES))
    objects += [(resources.NAMESPACES, stored) for stored in namespaces]
    past = watch_cache.Past(version=store.resource_version, objects=objects, changes=[])
    again = make_store(past=past)
    with refuses(410, "Expired"):
        again.commits_after(resources.CONFIGMAPS, store.resource_version - 1)
    made = again.create(resources.CONFIGMAPS, NAMESPACE, config("c"))
    assert made.resource_version == len(commits) + 1
    (commit,) = again.commits_after(resources.CONFIGMAPS, store.resource_version)
    assert commit.object == made


def test_garbage_that_was_left_is_collected(make_store: Callable[..., stores.Store]) -> None:
    commits: list[watch_cache.Commit] = []
    store = make_store(listeners=[commits.append])
    owner = store.create(resources.CONFIGMAPS, NAMESPACE, config("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
    store.create(resources.CONFIGMAPS, NAMESPACE, config("d", ownerReferences=[reference]))
    store.create(resources.NAMESPACES, "", config("leaving"))
    store.create(resources.CONFIGMAPS, "leaving", config("e"))
    store.delete(resources.CONFIGMAPS, NAMESPACE, "owner")
    store.delete(resources.NAMESPACES, "", "leaving")
    again = make_store(past=watch_cache.Past(version=0, objects=[], changes=changes_of(commits)))
    assert len(again.select(ALL_CONFIGMAPS)) == 2
    again.collect_garbage()
    assert again.select(ALL_CONFIGMAPS) == []
    names = [n.name for n in again.select(watch_cache.Selection(resource=resources.NAMESPACES))]
    assert "leaving" not in names


def test_reviving_is_the_inverse_of_storing() -> None:
    owner = {"uid": "u-owner", "name": "o", "kind": "Pod", "apiVersion": "v1"}
    meta = {"name": "n", "namespace": "ns", "uid": "u", "labels": {"a": "b", "c": "d"}}
    for more in ({}, {"ownerReferences": [owner]}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}):
        stored = stored_objects.store({"metadata": {**meta, **more}, "spec": {"x": [1, "ü"]}}, 17)
        assert stored_objects.revive(stored.data) == stored
