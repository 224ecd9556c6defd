"""The data directory: a store comes back as it was wherever its process ended."""

import os
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.apiserver import persistence
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache

NAMESPACE = "default"
CONFIGMAPS = watch_cache.Selection(resource=resources.CONFIGMAPS)
MakeStore = Callable[..., stores.Store]


class Session:
    """A server's life with a directory, without the server."""

    def __init__(self, folder: pathlib.Path, make_store: MakeStore) -> None:
        self.lock = persistence.claim(folder)
        self.path = folder / persistence.COMMITS
        try:
            self.store, self.journal = persistence.open_journal(
                folder, lambda past: make_store(past=past)
            )
        except BaseException:
            self.end()
            raise

    def write(self, name: str) -> None:
        """Create, change or delete it."""
        try:
            old = self.store.get(resources.CONFIGMAPS, NAMESPACE, name)
        except Exception:  # there is none yet
            self.store.create(resources.CONFIGMAPS, NAMESPACE, {"metadata": {"name": name}})
        else:
            if old.resource_version % 3:
                changed = old.document() | {"data": {"k": str(self.store.resource_version)}}
                self.store.update(resources.CONFIGMAPS, NAMESPACE, name, changed)
            else:
                self.store.delete(resources.CONFIGMAPS, NAMESPACE, name)
        self.journal.settle()

    def end(self) -> None:
        """Die: nothing is closed, but the lock goes with the process."""
        os.close(self.lock)


def filled(folder: pathlib.Path, make_store: MakeStore, count: int) -> Session:
    session, dice = Session(folder, make_store), random.Random(1)
    for _ in range(count):
        session.write(f"c{dice.randrange(12)}")
    session.end()
    return session


def refused(folder: pathlib.Path, make_store: MakeStore) -> str:
    with pytest.raises(errors.DataDirectoryError) as caught:
        Session(folder, make_store)
    return str(caught.value)


def test_cut_at_any_byte_what_was_told_is_there(
    tmp_path: pathlib.Path, make_store: MakeStore
) -> None:
    session = Session(tmp_path / "one", make_store)
    ends = [(session.path.stat().st_size, session.store.resource_version)]
    for number in range(6):
        session.write(f"c{number % 4}")
        ends.append((session.path.stat().st_size, session.store.resource_version))
    session.end()
    data = session.path.read_bytes()
    for length in range(ends[0][0], len(data) + 1, 7):
        copy = tmp_path / f"cut-{length}"
        copy.mkdir()
        (copy / persistence.COMMITS).write_bytes(data[:length])
        again = Session(copy, make_store)
        end, told = max(item for item in ends if item[0] <= length)
        assert again.store.resource_version == told
        assert again.journal.cut_bytes == length - end
        again.write("next")
        again.end()
        third = Session(copy, make_store)
        assert (third.journal.cut_bytes, third.store.resource_version) == (0, told + 1)
        third.end()


def test_a_start_keeps_the_newest_commits_and_the_objects_before_them(
    tmp_path: pathlib.Path, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, refuses: Any
) -> None:
    old = filled(tmp_path, make_store, 50).store
    monkeypatch.setattr(persistence, "CHANGES_MAX", 10)
    for _ in range(2):  # the second start reads what the first has written
        again = Session(tmp_path, make_store)
        first = old.resource_version - 10
        assert again.store.resource_version == old.resource_version
        assert again.store.select(CONFIGMAPS) == old.select(CONFIGMAPS)
        known = old.commits_after(resources.CONFIGMAPS, first)
        assert again.store.commits_after(resources.CONFIGMAPS, first) == known
        with refuses(410, "Expired"):
            again.store.commits_after(resources.CONFIGMAPS, first - 1)
        again.end()
    assert len(again.path.read_bytes().splitlines()) < 30


@pytest.mark.parametrize(
    "text", [b"!", b"{}", b'{"type":"ADDED","resource":"gadgets","object":{}}']
)
def test_damage_names_file_and_line_and_changes_nothing(
    tmp_path: pathlib.Path, make_store: MakeStore, text: bytes
) -> None:
    path = filled(tmp_path, make_store, 3).path
    lines = path.read_bytes().splitlines()
    damaged = b"\n".join([*lines[:2], text, *lines[2:], b""])
    path.write_bytes(damaged)
    assert f"{path} is damaged in line 3" in refused(tmp_path, make_store)
    assert path.read_bytes() == damaged


def test_a_directory_belongs_to_one_server(tmp_path: pathlib.Path, make_store: MakeStore) -> None:
    session = Session(tmp_path, make_store)
    assert f"the process {os.getpid()} has it" in refused(tmp_path, make_store)
    session.end()
    Session(tmp_path, make_store).end()


def test_a_directory_that_cannot_be_made_is_one_message(
    tmp_path: pathlib.Path, make_store: MakeStore
) -> None:
    (tmp_path / "file").write_text("")
    assert "expected a directory that can be written" in refused(tmp_path / "file", make_store)


def test_garbage_that_was_left_is_collected(make_store: MakeStore) -> None:
    def config(name: str, **meta: Any) -> dict[str, Any]:
        return {"metadata": {"name": name, **meta}}

    commits: list[watch_cache.Commit] = []
    store = make_store(listeners=[commits.append])
    owner = store.create(resources.CONFIGMAPS, NAMESPACE, config("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
    store.create(resources.CONFIGMAPS, NAMESPACE, config("d", ownerReferences=[reference]))
    store.create(resources.NAMESPACES, "", config("leaving"))
    store.create(resources.CONFIGMAPS, "leaving", config("e"))
    store.delete(resources.CONFIGMAPS, NAMESPACE, "owner")
    store.delete(resources.NAMESPACES, "", "leaving")
    again = make_store(past=watch_cache.Past(version=0, objects=[], changes=commits))
    assert len(again.select(CONFIGMAPS)) == 2
    again.collect_garbage()
    assert again.select(CONFIGMAPS) == []
    assert not again.has(resources.NAMESPACES, "", "leaving")


def test_objects_of_moved_changes_still_go_with_their_namespace(
    tmp_path: pathlib.Path, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(tmp_path, make_store)
    session.store.create(resources.NAMESPACES, "", {"metadata": {"name": "leaving"}})
    made = session.store.create(resources.CONFIGMAPS, "leaving", {"metadata": {"name": "c"}})
    changed = made.document() | {"data": {"k": "v"}}
    session.store.update(resources.CONFIGMAPS, "leaving", "c", changed)
    session.journal.settle()
    session.end()
    monkeypatch.setattr(persistence, "CHANGES_MAX", 0)
    again = Session(tmp_path, make_store)
    again.end()
    store = again.store
    store.delete(resources.NAMESPACES, "", "leaving")
    store.collect_garbage()
    assert store.select(CONFIGMAPS) == []
    assert not store.has(resources.NAMESPACES, "", "leaving")
