"""The data directory of an API server: one file with a line of JSON for each commit.

The first line names a version. The lines up to that version are the objects as they were then, the
lines after it are the commits since. A start reads the file, cuts off a last line that a kill left
half written, and moves the oldest commits into the objects; if those are many, it writes the file
again.

A response or a watch event is sent only after the lines of its commits are with the operating
system, so that the death of the process loses nothing that was acknowledged. Nothing is
synchronised to the disk: a power failure may lose commits.

Not in here: when responses are sent (`server.servers`), and the meaning of a commit
(`registry.store`).
"""

import collections
import fcntl
import itertools
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator

import msgspec

from harness import errors, writing
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

COMMITS, _LOCK = "commits.jsonl", "lock"
CHANGES_MAX = 100_000
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

    def __init__(self, path: pathlib.Path, *, cut_bytes: int) -> None:
        super().__init__(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), path)
        self.cut_bytes = cut_bytes
        """Size of the torn last line that the file had; it was never acknowledged."""

    def append(self, commit: watch_cache.Commit) -> None:
        """Buffer a commit; it may be acknowledged after `settle`."""
        self._lines.append(_encode(commit))


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


def open_journal(
    folder: pathlib.Path, make_store: Callable[[watch_cache.Past | None], stores.Store]
) -> tuple[stores.Store, Journal]:
    """Recover the store from a directory that is claimed, or begin a new one.

    Raises DataDirectoryError for a damaged file, StorageError or UnwritableError.
    """
    path = folder / COMMITS
    with writing.explained(path):
        path.touch(writing.PRIVATE)
        with path.open("rb") as file:
            past, size, moved = _read(file, path)
        cut_bytes = path.stat().st_size - size
        store = make_store(past)
        if past is None or moved > CHANGES_MAX:
            content = b"".join(_lines(past or store.as_past()))
            writing.write_whole(path, content, mode=writing.PRIVATE)
        elif cut_bytes:
            os.truncate(path, size)
        journal = Journal(path, cut_bytes=cut_bytes)
    store.listen(journal.append)
    return store, journal


def unwritable(error: OSError) -> errors.StorageError:
    """Return the StorageError for a file that can no longer be written."""
    return errors.StorageError(
        f"expected to write {error.filename}, but: {error.strerror}. The server has stopped: "
        "everything that it answered before is there, and a restart goes on from it"
    )


def _read(file: Iterable[bytes], path: pathlib.Path) -> tuple[watch_cache.Past | None, int, int]:
    """Return the past, the size of its lines, and how many commits were moved into the objects."""
    objects: dict[tuple[str, str, str], watch_cache.Commit] = {}
    changes: collections.deque[watch_cache.Commit] = collections.deque()
    number = size = first = version = 0
    try:
        lines = itertools.takewhile(lambda line: line.endswith(b"\n"), file)
        for number, line in enumerate(lines, 1):
            size += len(line)
            if number == 1:
                first = version = _head_decoder.decode(line).version
                continue
            changes.append(_decode(line))
            while changes and (
                changes[0].object.resource_version <= version or len(changes) > CHANGES_MAX
            ):
                oldest = changes.popleft()
                version = max(version, oldest.object.resource_version)
                key = (oldest.resource.qualified, oldest.object.namespace, oldest.object.name)
                objects[key] = oldest
                if oldest.type == "DELETED":
                    del objects[key]
    except (msgspec.DecodeError, LookupError, TypeError, ValueError) as error:
        raise errors.DataDirectoryError(
            f"{path} is damaged in line {number}: {error}; restore it from a copy, or start with "
            "an empty directory (nothing was changed)"
        ) from error
    past = watch_cache.Past(version=version, objects=objects.values(), changes=changes)
    return past if number else None, size, version - first


def _lines(past: watch_cache.Past) -> Iterator[bytes]:
    yield b'{"version":%d}\n' % past.version
    yield from map(_encode, itertools.chain(past.objects, past.changes))


def _decode(text: bytes) -> watch_cache.Commit:
    line = _line_decoder.decode(text)
    stored = stored_objects.revive(bytes(line.object))
    return watch_cache.Commit(resource=_RESOURCES[line.resource], type=line.type, object=stored)


def _encode(commit: watch_cache.Commit) -> bytes:
    return b'{"type":"%b","resource":"%b","object":%b}\n' % (
        commit.type.encode(),
        commit.resource.qualified.encode(),
        commit.object.data,
    )
