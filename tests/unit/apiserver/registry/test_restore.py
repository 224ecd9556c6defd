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
