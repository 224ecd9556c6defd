"""One watch: its events are passed one by one, in order, each when it is due.

Without faults an event is written as soon as it has arrived. With them, events wait in a queue.
"""

import asyncio
import itertools
from collections.abc import Callable

import aiohttp

from harness.fault_proxy import client_responses, statuses, watch_frames
from harness.faults import event_queues, injection, matching, object_metadata

QUEUED_BYTES_MAX = 32 * 1024 * 1024
"""Size of waiting events from which on no more are read: the API server then ends the watch."""
_INITIAL_EVENTS_END = b"k8s.io/initial-events-end"
"""The annotation of the bookmark after the initial objects."""
FactsOf = Callable[[object_metadata.Metadata, str], matching.Facts]
"""Returns the facts of an event from its object's metadata and its type."""


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
        self._filled, self._has_room = asyncio.Event(), asyncio.Event()
        self._has_room.set()
        self._queue = event_queues.EventQueue(
            faults,
            gone=lambda version: framing.error(statuses.expired(version)),
            on_due=self._filled.set,
        )
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
            self._queue.close()

    def end(self) -> None:
        """End the response after the events that wait; later ones are not passed."""
        self._put(event_queues.Item(ending=event_queues.Ending.END))

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
            self._put(event_queues.Item(ending=event_queues.Ending.RESET))

    async def _take(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        ends = self._framing.ends(data)
        if not ends:
            self._rest = data
            return
        whole, self._rest = data[: ends[-1]], data[ends[-1] :]
        if self._faults.wants("event", self._client):
            for start, end in itertools.pairwise([0, *ends]):
                await self._take_event(data[start:end])
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
        kind, meta = self._framing.read(frame)
        item = self._queue.item(frame, self._facts_of(meta, kind))
        if item.applied is None:
            await self._pass(frame)
        else:
            self._put(item)

    def _note_initial(self, frames: bytes) -> None:
        if self._is_initial and _INITIAL_EVENTS_END in frames:
            self._is_initial = False

    # ----------------------------------------------------------- to the client

    async def _pass(self, frames: bytes) -> None:
        if self._queue:
            self._put(event_queues.Item(frames))
        else:
            await self._response.send_piece(frames)

    def _put(self, item: event_queues.Item) -> None:
        self._is_over = self._is_over or item.ending is not None
        self._queue.put(item)
        if self._queue.size_bytes > QUEUED_BYTES_MAX:
            self._has_room.clear()
        self._filled.set()

    async def _send_queued(self) -> None:
        while True:
            while (item := self._queue.first) is None:
                self._filled.clear()
                await self._filled.wait()
            if item.frame:
                await self._response.send_piece(item.frame)
            self._queue.pop()  # not before it is written: until then, later ones queue up
            if self._queue.size_bytes <= QUEUED_BYTES_MAX:
                self._has_room.set()
            match item.ending:
                case event_queues.Ending.END:
                    return await self._response.end()
                case event_queues.Ending.CLOSE:
                    return self._response.close()
                case event_queues.Ending.RESET:
                    return self._response.reset()
