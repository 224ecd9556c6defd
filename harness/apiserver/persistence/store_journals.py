"""The journal of a store: opened when a server starts, appended to by every commit, compacted when it has grown."""

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine

from harness import errors
from harness.apiserver.persistence import (
    checksummed_lines,
    commit_log,
    data_directories,
    recovery,
    snapshots,
)
from harness.apiserver.registry import store as stores
from harness.apiserver.storage import watch_cache

SYNC_INTERVAL_S = 1.0
LOG_BYTES_MAX = 64 * 1024 * 1024
"""A log that is larger, and larger than the newest snapshot, gives way to a new one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """How a journal is kept."""

    sync: commit_log.Sync = commit_log.Sync.INTERVAL
    log_bytes_max: int = LOG_BYTES_MAX


class Journal:
    """The commits of one store, on disk."""

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
        """Whether the name of the newest log may not survive a loss of power yet."""
        self._snapshot_bytes = 0
        self._store: stores.Store | None = None
        self._on_failure: Callable[[OSError], None] | None = None

    def append(self, commit: watch_cache.Commit) -> None:
        """Gather a commit; it may be told of after `settle`."""
        self._log.append(commit)

    def start(self, store: stores.Store, *, on_failure: Callable[[OSError], None]) -> None:
        """Begin what goes on beside the work, on the running loop; a failure of it is reported once."""
        self._store, self._on_failure = store, on_failure
        if self._options.sync is commit_log.Sync.INTERVAL:
            self._run(self._sync_always())

    def settle(self) -> None:
        """Write what was gathered; OSError when it cannot be written, and then nobody may be told of it."""
        self._log.settle()
        limit = max(self._options.log_bytes_max, self._snapshot_bytes)
        if self._store is not None and self._log.size_bytes > limit and not self._is_compacting:
            self._is_compacting = True
            self._run(self._compact(self._begin_log(), self._store.tables()))

    async def close(self) -> None:
        """Write everything and let others have the directory."""
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
            raise error  # a mistake: the loop says so

    async def _sync_always(self) -> None:
        while True:
            await asyncio.sleep(SYNC_INTERVAL_S)
            await asyncio.to_thread(self._log.sync)
            if self._has_new_name:
                self._has_new_name = False
                await asyncio.to_thread(self._directory.sync)

    def _begin_log(self) -> commit_log.Log:
        """Go on in a new log; the old one is handed out."""
        old, version = self._log, self._log.version
        self._log = commit_log.create(self._directory, version, sync=self._options.sync)
        commit_log.publish(self._directory, version)
        if self._options.sync is commit_log.Sync.ALWAYS:
            self._directory.sync()
        self._has_new_name = True
        return old

    async def _compact(self, old: commit_log.Log, tables: snapshots.Tables) -> None:
        version = old.version
        await asyncio.to_thread(old.close)
        await snapshots.write_snapshot(self._directory, version, tables)
        self._snapshot_bytes = self._directory.snapshot(version).stat().st_size
        kept = self._directory.snapshots()[-2:]
        if len(kept) == 2:
            self._directory.remove_before(kept[0])
        self._is_compacting = False


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """A store that goes on from what a directory holds, and its journal."""

    store: stores.Store
    journal: Journal
    cut_bytes: int
    """Of a torn record at the end of the log, which nobody was told of."""


MakeStore = Callable[[watch_cache.Past | None, stores.Listener], stores.Store]


def open_journal(
    directory: data_directories.DataDirectory, make_store: MakeStore, options: JournalOptions
) -> Opened:
    """Read a directory, or begin it; DataDirectoryError when it cannot be."""
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
    """A new directory: its log counts once the store's first objects are in it."""
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
    """The error of a file that cannot be written any more."""
    return errors.StorageError(
        f"expected to write {error.filename}, but: {error.strerror}. The server has stopped: everything that it answered "
        "before is there, and a restart goes on from it"
    )
