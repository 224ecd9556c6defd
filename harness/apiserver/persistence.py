"""The data directory of an API server: one file with a line of JSON for each commit.

The first line names a version. The lines up to that version are the objects as they were then, the
lines after it are the commits since. A start reads the file, cuts off a last line that a kill left
half written, moves the oldest commits into the objects, and writes the file again.

A response or a watch event is sent only after the lines of its commits are with the operating
system, so that the death of the process loses nothing that was acknowledged. Nothing is
synchronised to the disk: a power failure may lose commits.

Not in here: when responses are sent (`server.servers`), and the meaning of a commit
(`registry.store`).
"""

import collections
import dataclasses
import fcntl
import os
import pathlib
from collections.abc import Callable, Iterator

import msgspec

from harness import errors, writing
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

COMMITS, _LOCK = "commits.jsonl", "lock"
CHANGES_MAX = 50_000
"""Number of commits that a start keeps, for watches that resume; older ones become objects."""
_RESOURCES = {item.qualified: item for item in map(resources.table_of, resources.STORED)}


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    version: int


class _Line(msgspec.Struct):
    type: watch_cache.EventType
    resource: str
    object: msgspec.Raw


_head_decoder, _line_decoder = msgspec.json.Decoder(_Head), msgspec.json.Decoder(_Line)


class Journal(writing.BufferedFile):
    """The file that each commit is written to, open for appending.

    A commit must not be acknowledged if `settle` fails.
    """

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), path)

    def append(self, commit: watch_cache.Commit) -> None:
        """Buffer a commit; it may be acknowledged after `settle`."""
        self._lines.append(_encode(commit.resource, commit.type, commit.object))


def claim(folder: pathlib.Path) -> int:
    """Create the directory if needed and lock it until this process ends; return the lock.

    Raises DataDirectoryError if another process has it, or if it cannot be opened.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        if writing.is_of_writing(error):
            raise writing.explain(error, folder) from error
        raise errors.DataDirectoryError(
            f"expected a directory that can be written at {folder}, but: {error.strerror}"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise errors.DataDirectoryError(
            f"expected {folder} to be used by no other server, but the process {holder} has it: "
            "stop that one, or give another --data-dir"
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, b"%d\n" % os.getpid(), 0)
    return lock


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """A store with the contents of a data directory, and its journal."""

    store: stores.Store
    journal: Journal
    cut_bytes: int
    """Size of the torn last line; it was never acknowledged."""


def open_journal(
    folder: pathlib.Path, make_store: Callable[[watch_cache.Past | None], stores.Store]
) -> Opened:
    """Recover the store from a directory that is claimed, or begin a new one.

    Raises DataDirectoryError for a damaged file, StorageError or UnwritableError.
    """
    path = folder / COMMITS
    with writing.explained(path):
        whole, newline, torn = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
        past = _read(path, whole.split(b"\n")) if newline else None
        store = make_store(past)
        writing.write_private(path, b"".join(_lines(past or _present(store))))
        journal = Journal(path)
    store.listen(journal.append)
    return Opened(store, journal, len(torn))


def unwritable(error: OSError) -> errors.StorageError:
    """Return the StorageError for a file that can no longer be written."""
    return errors.StorageError(
        f"expected to write {error.filename}, but: {error.strerror}. The server has stopped: "
        "everything that it answered before is there, and a restart goes on from it"
    )


def _read(path: pathlib.Path, lines: list[bytes]) -> watch_cache.Past:
    objects: dict[tuple[str, str, str], watch_cache.Change] = {}
    changes: collections.deque[watch_cache.Change] = collections.deque()
    number = 1
    try:
        version = _head_decoder.decode(lines[0]).version
        for text in lines[1:]:
            number += 1
            changes.append(_change(text))
            while changes and (
                changes[0].object.resource_version <= version or len(changes) > CHANGES_MAX
            ):
                oldest = changes.popleft()
                version = max(version, oldest.object.resource_version)
                _fold(objects, oldest)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, ValueError) as error:
        raise errors.DataDirectoryError(
            f"{path} is damaged in line {number}: {error}; restore it from a copy, or start with "
            "an empty directory (nothing was changed)"
        ) from error
    pairs = [(change.resource, change.object) for change in objects.values()]
    return watch_cache.Past(version=version, objects=pairs, changes=list(changes))


def _fold(
    objects: dict[tuple[str, str, str], watch_cache.Change], change: watch_cache.Change
) -> None:
    key = (change.resource.qualified, change.object.namespace, change.object.name)
    if change.type == "DELETED":
        objects.pop(key, None)
    else:
        objects[key] = change


def _change(text: bytes) -> watch_cache.Change:
    line = _line_decoder.decode(text)
    stored = stored_objects.revive(bytes(line.object))
    return watch_cache.Change(_RESOURCES[line.resource], line.type, stored)


def _present(store: stores.Store) -> watch_cache.Past:
    objects = [(resource, stored) for resource, table in store.tables() for stored in table]
    return watch_cache.Past(version=store.resource_version, objects=objects, changes=())


def _lines(past: watch_cache.Past) -> Iterator[bytes]:
    yield b'{"version":%d}\n' % past.version
    for resource, stored in past.objects:
        yield _encode(resource, "ADDED", stored)
    for change in past.changes:
        yield _encode(change.resource, change.type, change.object)


def _encode(
    resource: resources.ResourceType, kind: watch_cache.EventType, stored: stored_objects.Stored
) -> bytes:
    return b'{"type":"%b","resource":"%b","object":%b}\n' % (
        kind.encode(),
        resource.qualified.encode(),
        stored.data,
    )
