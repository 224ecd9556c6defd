"""What the connections of one API server share: the store, the token, who follows which resource.

One thread, one event loop (see `connections` and `streaming`).
"""

import asyncio
import hmac
import random
from collections.abc import Callable
from typing import Any, Protocol

from harness.apiserver import handling, resources, watching
from harness.apiserver import store as stores

EVENTS_FIRST_PROBABILITY = 0.5


class Follower(Protocol):
    """Somebody who is told of the commits of one resource."""

    resource_key: resources.ResourceType

    def offer(self, commit: watching.Commit) -> None:
        """A commit has happened."""


class Abortable(Protocol):
    """A connection, as its server sees it."""

    def abort(self) -> None:
        """The server stops."""


class Server:
    """Everything that the connections of one API server share."""

    def __init__(
        self, store: stores.Store, *, token: str, now: Callable[[], str], coin: random.Random
    ) -> None:
        self.store = store
        self._coin = coin
        self.handler = handling.Handler(store, now=now)
        self.now = now
        self._token = f"Bearer {token}".encode()
        self._watches: dict[Any, set[Follower]] = {}
        self._loop = asyncio.get_running_loop()
        self._collecting = False
        self.connections: set[Abortable] = set()
        store.listen(self._on_commit)

    def allows(self, authorization: bytes) -> bool:
        """Whether the Authorization header carries the token."""
        return hmac.compare_digest(authorization, self._token)

    def events_first(self) -> bool:
        """Whether the events of a write are sent before its answer."""
        return self._coin.random() < EVENTS_FIRST_PROBABILITY

    def add_watch(self, watch: Follower) -> None:
        """Tell the watch of every commit from now on."""
        self._watches.setdefault(watch.resource_key, set()).add(watch)

    def remove_watch(self, watch: Follower) -> None:
        """Tell the watch of nothing more."""
        self._watches.get(watch.resource_key, set()).discard(watch)

    def collect_garbage(self) -> None:
        """Collect in steps of its own, after whatever made the garbage was answered."""
        if not self._collecting:
            self._collecting = True
            self._loop.call_soon(self._collect_step)

    def _collect_step(self) -> None:
        self._collecting = False
        if self.store.collect_garbage_step():
            self.collect_garbage()

    def _on_commit(self, commit: watching.Commit) -> None:
        for watch in self._watches.get(commit.resource, ()):
            watch.offer(commit)
        self.collect_garbage()
