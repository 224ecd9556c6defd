"""A work queue of keys with retries.

After k8s.io/client-go/util/workqueue: a waiting key is not added twice, and no two workers process
the same key at the same time.
"""

import collections
import heapq
import math
from collections.abc import Callable

from harness import concurrency

RETRY_FIRST_S = 0.005
"""Wait before the first retry of a key, in seconds; it doubles with each failure."""
RETRY_MAX_S = 10.0
"""Maximum wait before a retry, in seconds."""
_DOUBLINGS_MAX = 64
"""Doublings of the first wait; far more than any maximum needs, and no overflow."""


class WorkQueue:
    """Keys that wait to be processed."""

    def __init__(self, name: str) -> None:
        self._changed = concurrency.condition(name)
        self._waiting: collections.deque[str] = collections.deque()
        self._dirty: set[str] = set()
        self._working: set[str] = set()
        self._retries: list[tuple[float, str]] = []
        """A heap of times and keys; an entry of a key that is retried sooner has no effect."""
        self._retried_at: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._closed = False

    def add(self, key: str) -> None:
        """Add a key, or have it processed again if it is being processed."""
        with self._changed:
            self._add(key)

    def get(self) -> str:
        """Take a key, waiting for one. Raises concurrency.Closed."""
        with self._changed:
            while not self._closed:
                wait_s = self._flush()
                if self._waiting:
                    key = self._waiting.popleft()
                    self._dirty.discard(key)
                    self._working.add(key)
                    return key
                self._changed.wait(wait_s)
        raise concurrency.Closed

    def work(self, sync: Callable[[str], bool]) -> None:
        """Process keys until the queue is closed; one of which `sync` returns False has failed."""
        while True:
            try:
                key = self.get()
            except concurrency.Closed:
                return
            self.done(key, failed=not sync(key))

    def done(self, key: str, *, failed: bool = False) -> None:
        """Return a processed key; if it failed, it is retried after a wait, the earliest one."""
        with self._changed:
            self._working.discard(key)
            if key in self._dirty:
                self._waiting.append(key)
                self._changed.notify()
            if failed:
                self._retry(key)
            else:
                self._failures.pop(key, None)

    def add_after(self, key: str, wait_s: float) -> None:
        """Add a key after a wait; a key waits for one time, the earliest."""
        with self._changed:
            self._add_at(key, concurrency.monotonic_s() + wait_s)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _add(self, key: str) -> None:
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._working:
            self._waiting.append(key)
            self._changed.notify()

    def _retry(self, key: str) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        wait_s = min(RETRY_FIRST_S * 2.0 ** min(failures - 1, _DOUBLINGS_MAX), RETRY_MAX_S)
        self._add_at(key, concurrency.monotonic_s() + wait_s)

    def _add_at(self, key: str, retried_at: float) -> None:
        if retried_at < self._retried_at.get(key, math.inf):
            self._retried_at[key] = retried_at
            heapq.heappush(self._retries, (retried_at, key))
            self._changed.notify()

    def _flush(self) -> float | None:
        now_s = concurrency.monotonic_s()
        while self._retries and self._retries[0][0] <= now_s:
            retried_at, key = heapq.heappop(self._retries)
            if self._retried_at.get(key) == retried_at:
                del self._retried_at[key]
                self._add(key)
        return self._retries[0][0] - now_s if self._retries else None
