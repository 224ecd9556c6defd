"""The journal of a store: records every commit, and replaces a log that has grown by a snapshot."""

import asyncio
import dataclasses
import os
import pathlib
from collections.abc import Callable, Coroutine, Iterator, Sequence
from io import FileIO
from typing import Annotated

import msgspec

from harness import errors
from harness.apiserver.persistence import checksummed_lines, commit_log, data_directories, recovery
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

SYNC_INTERVAL_S = 1.0
"""Time between two synchronisations with Sync.INTERVAL."""
LOG_BYTES_MAX = 64 * 1024 * 1024
"""A log larger than this, and larger than the newest snapshot, is replaced by a new one."""


Tables = Sequence[tuple[resources.ResourceType, Sequence[stored_objects.Stored]]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """The sync policy, and the size at which a log is replaced."""

    sync: commit_log.Sync = commit_log.Sync.INTERVAL
    log_bytes_max: Annotated[int, msgspec.Meta(ge=1)] = LOG_BYTES_MAX


class Journal:
    """The commits of one store on disk."""

    def __init__(
        self,
        directory: data_directories.DataDirectory,
        log: commit_log.Log,
        options: JournalOptions,
    ) -> None:
        self._directory, self._log, self._options = directory, log, options
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_compacting = False
        self._has_new_name = False
        """True if a power failure could still lose the name of the newest log."""
        self._snapshot_bytes = 0
        self._store: stores.Store | None = None
        self._on_failure: Callable[[OSError], None] | None = None

    def append(self, commit: watch_cache.Commit) -> None:
        """Buffer a commit; it may be acknowledged after `settle`."""
        self._log.append(commit)

    def start(self, store: stores.Store, *, on_failure: Callable[[OSError], None]) -> None:
        """Start the background work on the running loop; `on_failure` gets each of its OSErrors."""
        self._store, self._on_failure = store, on_failure
        if self._options.sync is commit_log.Sync.INTERVAL:
            self._run(self._sync_always())

    def settle(self) -> None:
        """Write the buffered commits. Raises OSError; they must not be acknowledged then."""
        self._log.settle()
        limit = max(self._options.log_bytes_max, self._snapshot_bytes)
        if self._store is not None and self._log.size_bytes > limit and not self._is_compacting:
            self._is_compacting = True
            self._run(self._compact(self._begin_log(), self._store.tables()))

    async def close(self) -> None:
        """Write everything and release the directory."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._log.close()
        self._directory.close()

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)

    def _on_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, OSError) and self._on_failure is not None:
            self._on_failure(error)
        elif error is not None:
            raise error  # a bug: the loop's exception handler reports it

    async def _sync_always(self) -> None:
        while True:
            await asyncio.sleep(SYNC_INTERVAL_S)
            await asyncio.to_thread(self._log.sync)
            if self._has_new_name:
                self._has_new_name = False
                await asyncio.to_thread(self._directory.sync)

    def _begin_log(self) -> commit_log.Log:
        old, version = self._log, self._log.version
        self._log = commit_log.create(self._directory, version, sync=self._options.sync)
        commit_log.publish(self._directory, version)
        if self._options.sync is commit_log.Sync.ALWAYS:
            self._directory.sync()
        self._has_new_name = True
        return old

    async def _compact(self, old: commit_log.Log, tables: Tables) -> None:
        version = old.version
        await asyncio.to_thread(old.close)
        await write_snapshot(self._directory, version, tables)
        self._snapshot_bytes = self._directory.snapshot(version).stat().st_size
        kept = self._directory.snapshots()[-2:]
        if len(kept) == 2:
            self._directory.remove_before(kept[0])
        self._is_compacting = False


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """A store with the contents of a data directory, and its journal."""

    store: stores.Store
    journal: Journal
    cut_bytes: int
    """Size of the torn record at the end of the log; it was never acknowledged."""


MakeStore = Callable[[watch_cache.Past | None, stores.Listener], stores.Store]


def open_journal(
    directory: data_directories.DataDirectory, make_store: MakeStore, options: JournalOptions
) -> Opened:
    """Recover the store from a data directory, or begin a new one.

    Raises DataDirectoryError for a damaged directory, StorageError if a file cannot be written.
    """
    loaded = recovery.load(directory)
    if loaded is None:
        return _begin(directory, make_store, options)
    path = directory.log(loaded.log_version)
    log = commit_log.Log(
        path,
        sync=options.sync,
        encoder=checksummed_lines.LineEncoder(loaded.checksum),
        version=loaded.version,
    )
    if not log.size_bytes:
        log.begin()
    journal = Journal(directory, log, options)
    return Opened(make_store(loaded.past, journal.append), journal, loaded.cut_bytes)


def _begin(
    directory: data_directories.DataDirectory, make_store: MakeStore, options: JournalOptions
) -> Opened:
    """Begin a directory; its log is published once the store's first objects are in it."""
    try:
        journal = Journal(directory, commit_log.create(directory, 0, sync=options.sync), options)
        store = make_store(None, journal.append)
        journal.settle()
        commit_log.publish(directory, 0)
        directory.sync()
    except OSError as error:
        raise unwritable(error) from error
    return Opened(store, journal, 0)


def unwritable(error: OSError) -> errors.StorageError:
    """Return the StorageError for a file that can no longer be written."""
    return errors.StorageError(
        f"expected to write {error.filename}, but: {error.strerror}. The server has stopped: everything that it answered "
        "before is there, and a restart goes on from it"
    )


STEP_OBJECTS = 50
"""Objects to encode at a time, which takes well below a millisecond."""
_WRITE_BYTES = 1024 * 1024
"""Bytes to write at a time, in another thread because disks may be slow."""


async def write_snapshot(
    directory: data_directories.DataDirectory, version: int, tables: Tables
) -> None:
    """Write the snapshot of these objects at a version. Raises OSError."""
    path = directory.snapshot(version)
    unfinished = path.with_suffix(data_directories.UNFINISHED)
    gathered: list[bytes] = []
    gathered_bytes = 0
    with open(unfinished, "wb", buffering=0, opener=_open_private) as file:
        for lines in _lines(version, tables):
            gathered += lines
            gathered_bytes += sum(map(len, lines))
            if gathered_bytes > _WRITE_BYTES:
                await asyncio.to_thread(_write, file, gathered)
                gathered, gathered_bytes = [], 0
            else:
                await asyncio.sleep(0)
        await asyncio.to_thread(_write, file, gathered)
        await asyncio.to_thread(os.fsync, file.fileno())
    unfinished.rename(path)
    await asyncio.to_thread(directory.sync)


def _open_private(path: str, flags: int) -> int:
    """Open a file with mode 0600, because objects may be secrets."""
    return os.open(path, flags, 0o600)


def _lines(version: int, tables: Tables) -> Iterator[list[bytes]]:
    encoder, count = checksummed_lines.LineEncoder(), 0
    yield [encoder.line(checksummed_lines.begin(version))]
    for resource, objects in tables:
        for index in range(0, len(objects), STEP_OBJECTS):
            step = objects[index : index + STEP_OBJECTS]
            count += len(step)
            yield [
                encoder.line(checksummed_lines.write(resource, "ADDED", stored)) for stored in step
            ]
    yield [encoder.line(checksummed_lines.end(count))]


def _write(file: FileIO, lines: list[bytes]) -> None:
    commit_log.write_all(file.fileno(), b"".join(lines), path=pathlib.Path(str(file.name)))
