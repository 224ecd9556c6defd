"""Listeners, and what compaction ends; tests/model_based has resuming and selections."""

from typing import Any

from harness.apiserver.scheme import resources

R = resources


def config(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def kinds(commits: list[Any]) -> list[tuple[str, str]]:
    return [(commit.type, commit.object.name) for commit in commits]


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
