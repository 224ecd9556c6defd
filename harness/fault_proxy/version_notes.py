"""The versions of an API server in the past, noted at short intervals while they are needed."""

import asyncio
import collections
from typing import NamedTuple

from harness import clocks
from harness.fault_proxy import http_headers, object_metadata, upstreams
from harness.faults import injection

INTERVAL_S = 0.1
"""Time between notes."""
_NOTES_MAX = 40_000
"""An hour of notes: the maximum age that a fault can ask for."""
_ANY_COLLECTION = "/api/v1/namespaces"


class Note(NamedTuple):
    """A version and the time when it was the current one."""

    noted_ns: int
    version: int

    @property
    def age_s(self) -> float:
        """Its age in seconds."""
        return (clocks.monotonic_ns() - self.noted_ns) / 1e9


class VersionNotes:
    """The versions of one API server since they have been needed."""

    def __init__(self, faults: injection.Faults, *, always: bool) -> None:
        """`always`: they are needed even while no fault makes reads stale."""
        self._faults, self._always = faults, always
        self._notes: collections.deque[Note] = collections.deque(maxlen=_NOTES_MAX)
        self._task: asyncio.Task[None] | None = None
        self.last_collection = ""
        """The path of the collection that a client has read last, which it may read again."""

    @property
    def are_wanted(self) -> bool:
        """True while there is a fault that makes reads stale."""
        return self._faults.wants("request") and any(
            isinstance(fault.spec.action, injection.Stale) for fault in self._faults.all()
        )

    def begin(self, upstream: upstreams.Upstream) -> None:
        """Note versions from now on if they are needed and not noted yet."""
        is_noting = self._task is not None and not self._task.done()
        if (self._always or self.are_wanted) and not is_noting:
            self._notes.clear()  # nothing is known of the time between
            self._task = asyncio.create_task(self._take(upstream))

    def stop(self) -> None:
        """Note nothing more."""
        if self._task is not None:
            self._task.cancel()

    def before(self, age_s: float) -> Note | None:
        """Return the newest note of at least this age, or else the oldest one.

        None if there is none yet.
        """
        for note in reversed(self._notes):
            if note.age_s >= age_s:
                return note
        return self._notes[0] if self._notes else None

    async def _take(self, upstream: upstreams.Upstream) -> None:
        while self._always or self.are_wanted:
            noted_ns = clocks.monotonic_ns()
            if version := await _current(upstream, self.last_collection or _ANY_COLLECTION):
                self._notes.append(Note(noted_ns, version))
            await asyncio.sleep(INTERVAL_S)


async def _current(upstream: upstreams.Upstream, collection: str) -> int:
    """Return the version that a list of the collection has now, 0 if there is no answer."""
    headers = http_headers.Headers({"Accept": "application/json"})
    try:
        response = await upstream.send("GET", f"{collection}?limit=1", headers, None)
        answer = await upstreams.whole(response)
    except upstreams.NoResponseError:
        return 0
    return object_metadata.of_body(answer.body).version
