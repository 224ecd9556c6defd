"""Journals: a store comes back as it was wherever its process ended, and a log does not grow for
ever.
"""

import asyncio
import itertools
import os
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.apiserver.persistence import (
    checksummed_lines,
    commit_log,
    data_directories,
    recovery,
    store_journals,
)
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

NAMESPACE = "default"
CONFIGMAPS = watch_cache.Selection(resource=resources.CONFIGMAPS)
OPTIONS = store_journals.JournalOptions(sync=commit_log.Sync.NEVER)
SMALL = store_journals.JournalOptions(sync=commit_log.Sync.NEVER, log_bytes_max=3000)


class Crash(BaseException):
    """The process ends here."""


def config(name: str, size: int = 1) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"k": "x" * size}}


class Session:
    """A server's life with a directory, without the server."""

    def __init__(
        self,
        path: pathlib.Path,
        make_store: Callable[..., stores.Store],
        options: store_journals.JournalOptions = OPTIONS,
    ) -> None:
        self.directory = data_directories.claim(path)
        self.told = 0
        """The newest version in a response."""
        try:
            self.opened = store_journals.open_journal(
                self.directory,
                lambda past, listen: make_store(past=past, listeners=[listen]),
                options,
            )
        except BaseException:
            self.end()
            raise
        self.store, self.journal = self.opened.store, self.opened.journal
        self.told = self.store.resource_version

    def write(self, name: str) -> None:
        try:
            old = self.store.get(resources.CONFIGMAPS, NAMESPACE, name)
        except Exception:  # there is none yet
            self.store.create(resources.CONFIGMAPS, NAMESPACE, config(name, 200))
        else:
            if old.resource_version % 3:
                changed = old.document() | {"data": {"k": str(self.store.resource_version)}}
                self.store.update(resources.CONFIGMAPS, NAMESPACE, name, changed)
            else:
                self.store.delete(resources.CONFIGMAPS, NAMESPACE, name)
        self.journal.settle()
        self.told = self.store.resource_version

    def end(self) -> None:
        """Die: nothing is closed, but the lock goes with the process."""
        os.close(self.directory.lock)


def run(session: Session, names: list[str]) -> None:
    """Write with whatever the journal does beside it, until nothing of that is left."""

    async def go() -> None:
        failures: list[OSError] = []
        session.journal.start(session.store, on_failure=failures.append)
        for name in names:
            session.write(name)
            await asyncio.sleep(0)
        while tasks := list(session.journal._tasks):
            await asyncio.gather(*tasks)
        assert failures == []

    asyncio.run(go())


def names(count: int, seed: int = 1) -> list[str]:
    dice = random.Random(seed)
    return [f"c{dice.randrange(12)}" for _ in range(count)]


def test_everything_comes_back(tmp_path: pathlib.Path, make_store: Callable[..., Any]) -> None:
    session = Session(tmp_path, make_store)
    run(session, names(50))
    session.end()
    again = Session(tmp_path, make_store)
    assert again.opened.cut_bytes == 0
    assert again.store.resource_version == session.store.resource_version
    assert again.store.select(CONFIGMAPS) == session.store.select(CONFIGMAPS)
    assert again.store.commits_after(resources.CONFIGMAPS, 0) == session.store.commits_after(
        resources.CONFIGMAPS, 0
    )
    again.write("next")
    assert again.store.resource_version == session.store.resource_version + 1
    again.end()


def test_cut_at_any_byte_what_was_told_is_there(
    tmp_path: pathlib.Path, make_store: Callable[..., Any]
) -> None:
    session = Session(tmp_path / "one", make_store)
    ends = [(session.directory.log(0).stat().st_size, session.told)]
    for name in names(6):
        session.write(name)
        ends.append((session.directory.log(0).stat().st_size, session.told))
    session.end()
    data = session.directory.log(0).read_bytes()
    for length in range(ends[0][0], len(data) + 1, 7):
        copy = tmp_path / f"cut-{length}"
        copy.mkdir()
        (copy / session.directory.log(0).name).write_bytes(data[:length])
        again = Session(copy, make_store)
        end, told = max(item for item in ends if item[0] <= length)
        assert again.store.resource_version == told
        assert again.opened.cut_bytes == length - end
        again.write("next")
        again.end()
        third = Session(copy, make_store)
        assert third.opened.cut_bytes == 0
        assert third.store.resource_version == told + 1
        third.end()


def test_logs_give_way_to_snapshots(
    tmp_path: pathlib.Path, make_store: Callable[..., Any], refuses: Any
) -> None:
    session = Session(tmp_path, make_store, SMALL)
    sizes = []
    for round_number in range(30):
        run(session, names(20, seed=round_number))
        sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
    assert max(sizes[5:]) < 40_000  # 600 writes, 30 KB of them or more in each three rounds
    first = session.directory.snapshots()[0]
    assert len(session.directory.snapshots()) == 2
    assert session.directory.logs() == session.directory.snapshots()
    session.end()
    again = Session(tmp_path, make_store, SMALL)
    assert again.store.resource_version == session.store.resource_version
    assert again.store.select(CONFIGMAPS) == session.store.select(CONFIGMAPS)
    known = session.store.commits_after(resources.CONFIGMAPS, first)
    assert again.store.commits_after(resources.CONFIGMAPS, first) == known
    assert known
    with refuses(410, "Expired"):
        again.store.commits_after(resources.CONFIGMAPS, first - 1)
    again.end()


def crash_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Have the process end before the step-th thing that it does to the disk: after it nothing is
    done.
    """
    counter = itertools.count()

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def run_or_crash(*arguments: Any, **options: Any) -> Any:
            if next(counter) >= step:
                raise Crash
            return call(*arguments, **options)

        return run_or_crash

    monkeypatch.setattr(commit_log, "write_all", counted(commit_log.write_all))
    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    for method in ("rename", "unlink"):
        monkeypatch.setattr(pathlib.Path, method, counted(getattr(pathlib.Path, method)))


def require_prefix(session: Session | None, again: Session) -> None:
    """Check that the recovered state is one that was, not older than any response."""
    if session is None:
        return
    version = again.store.resource_version
    assert version >= session.told
    newest = {
        commit.object.name: commit
        for commit in session.store.commits_after(resources.CONFIGMAPS, 0)
        if commit.object.resource_version <= version
    }
    alive = [commit.object for commit in newest.values() if commit.type != "DELETED"]
    assert again.store.select(CONFIGMAPS) == sorted(alive, key=lambda stored: stored.name)


def test_a_crash_at_any_step_of_beginning_and_compacting_loses_nothing(
    tmp_path: pathlib.Path, make_store: Callable[..., Any]
) -> None:
    crashed = 0
    for step in itertools.count():
        path = tmp_path / str(step)
        session = None
        with pytest.MonkeyPatch.context() as monkeypatch:
            crash_at(monkeypatch, step)
            try:
                session = Session(path, make_store, SMALL)
                run(session, names(60, seed=step))
            except Crash:
                crashed += 1
            else:
                session.end()
                break
        if session is not None:
            session.end()
        again = Session(path, make_store, SMALL)
        assert again.store.get(resources.NAMESPACES, "", NAMESPACE)
        require_prefix(session, again)
        again.write("next")
        again.end()
        third = Session(path, make_store, SMALL)
        assert third.store.resource_version == again.store.resource_version
        third.end()
    assert crashed > 60


# ---------------------------------------------------------------- damage


def prepared(
    tmp_path: pathlib.Path, make_store: Callable[..., Any]
) -> data_directories.DataDirectory:
    """With a snapshot that is needed, however slow the disk is: the first log is gone. The newest
    has a record.
    """
    session = Session(tmp_path, make_store, SMALL)
    number = 0
    while number < 4 or session.directory.logs()[0] == 0 or not has_record(session.directory):
        run(session, names(20, seed=number))
        number += 1
    session.end()
    return session.directory


def has_record(directory: data_directories.DataDirectory) -> bool:
    return directory.log(directory.logs()[-1]).read_bytes().count(b"\n") > 1


def refused(path: pathlib.Path, make_store: Callable[..., Any]) -> str:
    with pytest.raises(errors.DataDirectoryError) as caught:
        Session(path, make_store)
    return str(caught.value)


def test_damage_names_file_and_byte(tmp_path: pathlib.Path, make_store: Callable[..., Any]) -> None:
    directory = prepared(tmp_path, make_store)
    paths = [directory.log(version) for version in directory.logs()]
    paths.append(directory.snapshot(directory.snapshots()[0]))
    for path in paths:
        whole = path.read_bytes()
        second = whole.index(b"\n") + 1
        path.write_bytes(whole[: second + 30] + b"!" + whole[second + 31 :])
        assert f"{path} is damaged at byte {second}" in refused(tmp_path, make_store)
        assert path.read_bytes() != whole  # and nothing was repaired
        path.write_bytes(whole)
    Session(tmp_path, make_store).end()


def test_a_snapshot_or_an_old_log_that_was_cut_off_is_damaged(
    tmp_path: pathlib.Path, make_store: Callable[..., Any]
) -> None:
    directory = prepared(tmp_path, make_store)
    for path in (directory.snapshot(directory.snapshots()[0]), directory.log(directory.logs()[0])):
        whole = path.read_bytes()
        path.write_bytes(whole[:-9])
        assert f"{path} is damaged at byte" in refused(tmp_path, make_store)
        path.write_bytes(whole)


def test_a_missing_file_is_noticed(tmp_path: pathlib.Path, make_store: Callable[..., Any]) -> None:
    directory = prepared(tmp_path, make_store)
    logs = [directory.log(version) for version in directory.logs()]
    aside = logs[-1].rename(tmp_path / "log-aside")
    assert f"expected {logs[-1]}, but it is missing" in refused(tmp_path, make_store)
    aside.rename(logs[-1])
    for path in logs:
        path.rename(tmp_path / f"log-aside-{path.name}")
    assert f"expected {logs[-1]}, but it is missing" in refused(tmp_path, make_store)
    for path in logs:
        (tmp_path / f"log-aside-{path.name}").rename(path)
    for version in directory.snapshots():
        directory.snapshot(version).unlink()
    assert "expected a snapshot" in refused(tmp_path, make_store)


def test_a_hole_between_two_logs_is_noticed(
    tmp_path: pathlib.Path, make_store: Callable[..., Any]
) -> None:
    directory = prepared(tmp_path, make_store)
    older, newer = directory.logs()
    lines = directory.log(older).read_bytes().splitlines(keepends=True)
    directory.log(older).write_bytes(b"".join(lines[:-1]))
    text = refused(tmp_path, make_store)
    assert f"expected the commits up to {newer} before {directory.log(newer)}" in text


def test_what_this_version_does_not_know_is_an_error(
    tmp_path: pathlib.Path, make_store: Callable[..., Any]
) -> None:
    for payloads in ([b"B 2 0"], [b"B 1 0", b"A gadgets {}"], [b"B 1 0", b"A configmaps []"]):
        encoder = checksummed_lines.LineEncoder()
        lines = [encoder.line(payload) for payload in payloads]
        (tmp_path / f"log-{0:020d}").write_bytes(b"".join(lines))
        offset = sum(map(len, lines[:-1]))
        assert f"is damaged at byte {offset}: " in refused(tmp_path, make_store)


def test_reviving_reads_every_kind_of_change(tmp_path: pathlib.Path) -> None:
    directory = data_directories.claim(tmp_path)
    log = commit_log.create(directory, 0, sync=commit_log.Sync.ALWAYS)
    meta = {"name": "n", "namespace": "ns", "uid": "u"}
    kinds: list[watch_cache.EventType] = ["ADDED", "MODIFIED", "DELETED"]
    made = [
        watch_cache.Commit(
            resource=resources.CONFIGMAPS,
            type=kind,
            object=stored_objects.store({"metadata": dict(meta)}, version),
            previous=None,
        )
        for version, kind in enumerate(kinds, 1)
    ]
    for commit in made:
        log.append(commit)
    log.close()
    commit_log.publish(directory, 0)
    loaded = recovery.load(directory)
    assert loaded is not None
    assert [(c.type, c.object) for c in loaded.past.changes] == [(c.type, c.object) for c in made]
    assert loaded.version == 3
    directory.close()


def test_a_directory_belongs_to_one_server(
    tmp_path: pathlib.Path, make_store: Callable[..., Any]
) -> None:
    session = Session(tmp_path, make_store)
    assert f"the process {os.getpid()} has it" in refused(tmp_path, make_store)
    session.end()
    Session(tmp_path, make_store).end()


def test_a_directory_that_cannot_be_made_is_one_message(
    tmp_path: pathlib.Path, make_store: Callable[..., Any]
) -> None:
    (tmp_path / "file").write_text("")
    assert "expected a directory that can be written" in refused(tmp_path / "file", make_store)


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize("call", ["fdatasync", "fsync"])
def test_a_disk_that_fails_beside_the_work_is_reported_once(
    tmp_path: pathlib.Path,
    make_store: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    call: str,
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(store_journals, "SYNC_INTERVAL_S", 0.0)
    options = store_journals.JournalOptions(sync=commit_log.Sync.INTERVAL, log_bytes_max=2000)
    session = Session(tmp_path, make_store, options)
    failures: list[OSError] = []

    async def go() -> None:
        session.journal.start(session.store, on_failure=failures.append)
        monkeypatch.setattr(os, call, fail)
        while not failures:
            session.write("a")
            await asyncio.sleep(0)
        monkeypatch.undo()
        await session.journal.close()

    asyncio.run(go())
    assert failures[0].strerror == "Input/output error"
    if call == "fdatasync":
        assert "log-" in str(store_journals.unwritable(failures[0]))
