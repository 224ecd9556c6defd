"""One watch: its events are passed one by one, in order, each when it is due.

Without faults an event is written as soon as it has arrived. With them, events wait in a queue:
each becomes due on its own, so that a lag of one second delays every event by one second and not by
the sum, and none overtakes another. The end of the watch takes its turn in the queue, too.
"""

import asyncio
import collections
import enum
import functools
from collections.abc import Callable
from typing import NamedTuple

import aiohttp

from harness.fault_proxy import client_responses, object_metadata, statuses, watch_frames
from harness.faults import injection, matching

QUEUED_BYTES_MAX = 32 * 1024 * 1024
"""Size of waiting events from which on no more are read: the API server then ends the watch."""
_INITIAL_EVENTS_END = b"k8s.io/initial-events-end"
"""The annotation of the bookmark after the initial objects."""
FactsOf = Callable[[str, object_metadata.Metadata], matching.Facts]
"""Returns the facts of an event from its type and its object's metadata."""


class Ending(enum.Enum):
    """How a watch ends."""

    END = enum.auto()
    """End with the end of the response, as the API server ends one after its timeout."""
    CLOSE = enum.auto()
    """End with the end of the connection."""
    RESET = enum.auto()


class _Held(NamedTuple):
    """The fault that holds an event, and a future that is done when it lets go."""

    applied: injection.Applied
    due: "asyncio.Future[None]"


class _Item(NamedTuple):
    """An event that waits, or the end of the watch after a last frame."""

    frame: bytes
    held: "_Held | None" = None
    """None: no fault holds it."""
    ending: Ending | None = None


class WatchRelay:
    """One watch of a client."""

    def __init__(
        self,
        response: client_responses.ClientResponse,
        framing: watch_frames.Framing,
        faults: injection.Faults,
        facts_of: FactsOf,
        *,
        client: str,
        has_initial_events: bool,
    ) -> None:
        """`client` is the client's name.

        `has_initial_events`: the first events show what exists already, until a bookmark ends them.
        """
        self._response, self._framing, self._faults = response, framing, faults
        self._facts_of, self._client = facts_of, client
        self._is_initial = has_initial_events
        self._rest = b""
        self._queue: collections.deque[_Item] = collections.deque()
        self._queued_bytes = 0
        self._filled, self._has_room = asyncio.Event(), asyncio.Event()
        self._has_room.set()
        self._is_over = False
        """True when the end of the watch is in the queue."""

    async def run(self, source: aiohttp.StreamReader) -> None:
        """Pass events until the watch ends. Raises ConnectionError if the client has gone."""
        reading = asyncio.create_task(self._read(source))
        sending = asyncio.create_task(self._send_queued())
        try:
            await asyncio.wait((reading, sending), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            await sending
        finally:
            reading.cancel()
            sending.cancel()
            await asyncio.gather(reading, sending, return_exceptions=True)

    def end(self) -> None:
        """End the response after the events that wait; later ones are not passed."""
        self._put(ending=Ending.END)

    # ------------------------------------------------------------ from upstream

    async def _read(self, source: aiohttp.StreamReader) -> None:
        try:
            while not self._is_over and (data := await source.readany()):
                await self._take(data)
                await self._has_room.wait()
            self.end()
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, aiohttp.ClientConnectionResetError):
                raise  # it is the client that has gone
            self._put(ending=Ending.RESET)

    async def _take(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        size = self._framing.whole_bytes(data)
        whole, self._rest = (data, b"") if size == len(data) else (data[:size], data[size:])
        if not whole:
            return
        if self._faults.wants("event", self._client):
            for frame in self._framing.split(whole):
                await self._take_event(frame)
        else:
            self._note_initial(whole)
            await self._pass(whole)

    async def _take_event(self, frame: bytes) -> None:
        if self._is_over:
            return
        if self._is_initial:
            self._note_initial(frame)
            await self._pass(frame)
            return
        kind, meta = object_metadata.of_event(frame, is_protobuf=self._framing.is_protobuf)
        applied = self._faults.strike("event", self._facts_of(kind, meta))
        if applied is None:
            await self._pass(frame)
        else:
            self._apply(applied, frame, meta)

    def _note_initial(self, frames: bytes) -> None:
        if self._is_initial and _INITIAL_EVENTS_END in frames:
            self._is_initial = False

    def _apply(
        self, applied: injection.Applied, frame: bytes, meta: object_metadata.Metadata
    ) -> None:
        match applied.action:
            case injection.Block() | injection.Delay():
                self._put(frame, self._hold(applied))
            case injection.Drop():
                self._put(held=self._held_end(applied), ending=Ending.CLOSE)
            case injection.Truncate():
                self._put(frame[: len(frame) // 2], ending=Ending.RESET)
            case injection.Gone():
                gone = statuses.error_frame(statuses.expired(meta.version), self._framing)
                self._put(gone, self._held_end(applied), ending=Ending.END)
            case _:
                pass  # Omit: the bookmark is not passed

    def _held_end(self, applied: injection.Applied) -> _Held | None:
        return self._hold(applied) if injection.is_held_end(applied.action) else None

    def _hold(self, applied: injection.Applied) -> _Held:
        held = _Held(applied, asyncio.get_running_loop().create_future())
        self._faults.hold(applied, functools.partial(_resolve, held.due))
        return held

    # ----------------------------------------------------------- to the client

    async def _pass(self, frames: bytes) -> None:
        if self._queue:
            self._put(frames)
        else:
            await self._response.write(frames)

    def _put(
        self, frame: bytes = b"", held: _Held | None = None, *, ending: Ending | None = None
    ) -> None:
        if self._is_over:
            return
        self._is_over = ending is not None
        self._queue.append(_Item(frame, held, ending))
        self._queued_bytes += len(frame)
        if self._queued_bytes > QUEUED_BYTES_MAX:
            self._has_room.clear()
        self._filled.set()

    async def _send_queued(self) -> None:
        while True:
            while not self._queue:
                self._filled.clear()
                await self._filled.wait()
            item = self._queue[0]
            if item.held is not None:
                await item.held.due
                self._faults.end(item.held.applied)
            if item.frame:
                await self._response.write(item.frame)
            self._queue.popleft()  # not before it is written: until then, later ones queue up
            self._queued_bytes -= len(item.frame)
            if self._queued_bytes <= QUEUED_BYTES_MAX:
                self._has_room.set()
            if item.ending is not None:
                await _finish(self._response, item.ending)
                return


async def _finish(response: client_responses.ClientResponse, ending: Ending) -> None:
    if ending is Ending.END:
        await response.end()
    elif ending is Ending.CLOSE:
        response.close()
    else:
        response.reset()


def _resolve(due: "asyncio.Future[None]") -> None:
    if not due.done():
        due.set_result(None)
