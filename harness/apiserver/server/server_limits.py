"""What the server puts up with: how many connections and watches, how slow they may be, and how much they may leave unread."""

import dataclasses
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All limits that are not about one request's size (those are in `http_parsing`)."""

    connections_max: int = 4096
    """One more is answered with 503 and closed."""
    watches_max: int = 2048
    """One more is answered with 429."""
    request_timeout_s: float = 30.0
    """From the first byte of a request to its last; 408 then."""
    stall_timeout_s: float = 60.0
    """A client that takes nothing of what waits for it for so long is dropped."""
    watch_unread_bytes_max: int = 32 * 1024 * 1024
    """A watcher that leaves more unread is dropped; it resumes, or is told 410."""
    unread_bytes_max: int = 256 * 1024 * 1024
    """Of all clients together; whoever left the most unread is dropped first."""
    retry_after_s: int = 1
    """What those who were too many are told."""


class Client(Protocol):
    """A connection, as its server sees it."""

    def check(self, now_s: float) -> None:
        """Time has passed: drop who is too slow."""

    def finish(self) -> None:
        """The server stops: end in order."""

    def abort(self) -> None:
        """End now."""


class Unread:
    """How many bytes wait for whom, and in total."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sizes: dict[Client, int] = {}
        self.total_bytes = 0

    def note(self, client: Client, size: int, *, watches: bool) -> None:
        """So much waits for a client now; drops it, or others, when that is too much."""
        self.total_bytes += size - self._sizes.get(client, 0)
        if not size:
            self._sizes.pop(client, None)
            return
        self._sizes[client] = size
        if watches and size > self._limits.watch_unread_bytes_max:
            self._drop(client)
        while self.total_bytes > self._limits.unread_bytes_max:
            self._drop(max(self._sizes, key=self._sizes.__getitem__))

    def _drop(self, client: Client) -> None:
        self.total_bytes -= self._sizes.pop(client)
        client.abort()
