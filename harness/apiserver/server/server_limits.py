"""Limits on connections and watches: their number, their speed, and their unread bytes."""

import dataclasses
from typing import Annotated, Protocol

import msgspec

AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All limits except those on the size of a request, which are in `http_parsing`."""

    connections_max: AtLeastOne = 4096
    """Maximum number of connections; further ones get 503 and are closed."""
    watches_max: AtLeastOne = 2048
    """Maximum number of watches; further ones get 429."""
    request_timeout_s: float = 30.0
    """Time limit for reading one request; 408 when exceeded."""
    stall_timeout_s: float = 60.0
    """Time after which a client that reads nothing of its response is dropped."""
    watch_unread_bytes_max: int = 32 * 1024 * 1024
    """Maximum unread bytes of one watch; its connection is dropped when exceeded."""
    unread_bytes_max: int = 256 * 1024 * 1024
    """Maximum unread bytes of all clients; clients with the most are dropped when exceeded."""
    roles_late_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Time after its start in which the server answers 403 to everyone, as kube-apiserver does
    until its authorizer has read the roles."""
    retry_after_s: int = 1
    """`Retry-After` of 429 and 503 responses, in seconds."""


class Client(Protocol):
    """A connection, as the server uses it."""

    def check(self, now_s: float) -> None:
        """Enforce the time limits; `now_s` is the loop's clock."""

    def finish(self) -> None:
        """End the connection after the current request: the server stops."""

    def abort(self) -> None:
        """Close the connection at once."""


class Unread:
    """The unread bytes of each client, and in total."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sizes: dict[Client, int] = {}
        self.total_bytes = 0

    def note(self, client: Client, size: int, *, watches: bool) -> None:
        """Record the unread bytes of a client; drop it, or others, if a limit is exceeded."""
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
