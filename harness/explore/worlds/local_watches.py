"""Watches of the API server inside the process."""

import collections
from collections.abc import Callable, Iterator

from harness import concurrency
from harness.apiserver import json_codec
from harness.apiserver.errors import status_errors
from harness.apiserver.server import http_messages
from harness.apiserver.storage import watch_cache
from harness.client import transports
from harness.explore.runtime import queues, scheduler, tasks


class LocalWatch:
    """A watch; taking its next event is a choice point."""

    status = 200

    def __init__(
        self,
        selection: watch_cache.Selection,
        runtime: scheduler.ControlledRuntime,
        breaks: Callable[["LocalWatch"], bool],
        *,
        version: int = 0,
    ) -> None:
        """`version`: the watcher has this one already; commits up to it are not offered again."""
        self.selection, self._breaks, self._version = selection, breaks, version
        self._lines: queues.ControlledQueue[bytes] = queues.ControlledQueue(
            runtime, f"watch {selection.resource.plural}"
        )

    def offer(self, commit: watch_cache.Commit) -> None:
        """Queue a commit's event, if the watch selects the object and has not had it."""
        if commit.object.resource_version <= self._version:
            return
        self._version = commit.object.resource_version
        seen = self.selection.sees(commit)
        if seen is not None:
            kind, stored = seen
            self._lines.put(http_messages.event_line(kind, stored.data))

    def end_with(self, error: status_errors.StatusError) -> None:
        status = json_codec.encode(error.to_status())
        self._lines.put(http_messages.event_line("ERROR", status))
        self._lines.close()
        self._breaks = lambda _: False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            try:
                line = self._lines.get()
            except concurrency.Closed:
                return
            if self._breaks(self):
                raise transports.TransportError("the watch broke off", sent=True)
            yield line

    def close(self) -> None:
        self._lines.close()


class UndeliveredCommits:
    """Commits that no watch delivers yet, in their order."""

    def __init__(self) -> None:
        self._waiting: collections.deque[tuple[watch_cache.Commit, tasks.Task | None]] = (
            collections.deque()
        )

    def after_commit(
        self, commit: watch_cache.Commit, writer: tasks.Task | None
    ) -> list[watch_cache.Commit]:
        """Add a commit and return what can be delivered now; `writer` None: it is not awaited."""
        self._waiting.append((commit, writer))
        return self._released()

    def after_next_request(self, writer: tasks.Task) -> list[watch_cache.Commit]:
        """Return what can be delivered when this writer goes on."""
        known = [(commit, None if by is writer else by) for commit, by in self._waiting]
        self._waiting = collections.deque(known)
        return self._released()

    def all(self) -> list[watch_cache.Commit]:
        commits = [commit for commit, _ in self._waiting]
        self._waiting.clear()
        return commits

    def _released(self) -> list[watch_cache.Commit]:
        """Return the first commits, up to one whose writer has not gone on."""
        commits = []
        while self._waiting and self._waiting[0][1] is None:
            commits.append(self._waiting.popleft()[0])
        return commits
