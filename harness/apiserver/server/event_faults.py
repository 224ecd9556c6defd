"""Faults of the events of one watch: which one applies, and what is then sent instead."""

import collections
import enum
import functools
from collections.abc import Callable

import msgspec

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.server import fault_facts
from harness.apiserver.storage import stored_objects, watch_cache
from harness.faults import injection


class Ending(enum.Enum):
    """How a watch ends when an item's turn comes."""

    ABORT = "its connection is closed at once"
    RESET = "its connection is reset after the item"
    END = "its response ends after the item"


class Item(msgspec.Struct, eq=False):
    """One event, or a part of one, and the fault that applies to it."""

    line: bytes
    """Its line or frame; empty: nothing is sent."""
    applied: injection.Applied | None = None
    ending: Ending | None = None
    is_due: bool = True
    """False while a fault holds or delays it."""
    version: int = 0
    """The version that a client has seen with it; 0: it is not sent, or not as a whole."""


class EventQueue:
    """The items of one watch that wait."""

    def __init__(self, perform: Callable[[Item], None]) -> None:
        self._perform = perform
        self._items: collections.deque[Item] = collections.deque()
        self.size_bytes = 0
        self.is_open = False
        """False while every item waits because the past is being sent."""

    @property
    def is_idle(self) -> bool:
        """True if an item that is due would be sent at once."""
        return self.is_open and not self._items

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Item) -> None:
        """Send an item after those that wait; at once if there is none and it is due."""
        if self.is_idle and item.is_due:
            self._perform(item)
        else:
            self._items.append(item)
            self.size_bytes += len(item.line)

    def open(self) -> None:
        """Send what waits for the past only."""
        self.is_open = True
        self.go_on()

    def go_on(self) -> None:
        """Send the items whose turn has come."""
        while self.is_open and self._items and self._items[0].is_due:
            item = self._items.popleft()
            self.size_bytes -= len(item.line)
            self._perform(item)

    def clear(self) -> None:
        """Drop all items: nothing more can be sent."""
        self._items.clear()
        self.size_bytes = 0


class EventFaults:
    """The faults of a server, as they apply to one watch."""

    def __init__(
        self,
        registry: injection.Faults,
        request: request_info.Request,
        resource: str,
        *,
        error_line: Callable[[status_errors.StatusError], bytes],
        on_due: Callable[[Item], None],
    ) -> None:
        """`resource` is the plural name; `on_due` gets each item that was held or delayed."""
        self._registry, self._request, self._resource = registry, request, resource
        self._client = fault_facts.client_of(request)
        self._error_line, self._on_due = error_line, on_due

    @property
    def has_any(self) -> bool:
        """True if there is a fault for events of this client."""
        return self._registry.wants("event", self._client)

    def item(
        self,
        kind: watch_cache.EventType,
        stored: stored_objects.Stored,
        line: bytes,
        *,
        age_s: float,
    ) -> Item:
        """Return what is sent of an event that happened `age_s` seconds ago."""
        applied = None
        if self.has_any:
            facts = fault_facts.of_event(self._request, self._resource, kind, stored)
            applied = self._registry.strike("event", facts)
        return self._item(applied, line, stored.resource_version, age_s)

    def bookmark(self, version: int, line: bytes) -> Item:
        """Return what is sent of a bookmark; not called for the end of the initial events."""
        applied = None
        if self.has_any:
            facts = fault_facts.of_bookmark(self._request, self._resource, version)
            applied = self._registry.strike("event", facts)
        return self._item(applied, line, version, 0.0)

    def note_end(self, applied: injection.Applied) -> None:
        """Record that an item was sent, or came due when the watch had ended."""
        self._registry.end(applied)

    def _item(
        self, applied: injection.Applied | None, line: bytes, version: int, age_s: float
    ) -> Item:
        endings = Ending
        match applied.action if applied else None:
            case injection.Drop() if applied is not None:
                return self._ending(applied, b"", endings.ABORT)
            case injection.Gone() if applied is not None:
                gone = self._error_line(status_errors.expired(version - 1, version))
                return self._ending(applied, gone, endings.END)
            case injection.Truncate():
                return Item(line[: len(line) // 2], applied, endings.RESET)
            case injection.Omit():
                return Item(b"", applied)
            case injection.Block() | injection.Delay() if applied is not None:
                return self._delayed(applied, line, version, age_s)
        return Item(line, version=version)

    def _ending(self, applied: injection.Applied, line: bytes, ending: Ending) -> Item:
        item = Item(line, applied, ending)
        if injection.is_held_end(applied.action):
            item.is_due = False
            self._registry.hold(applied, functools.partial(self._come_due, item))
        return item

    def _delayed(self, applied: injection.Applied, line: bytes, version: int, age_s: float) -> Item:
        item = Item(line, applied, is_due=False, version=version)
        action, delay_s = applied.action, None
        if isinstance(action, injection.Delay):
            delay_s = max(action.seconds - age_s, 0.0)
        self._registry.hold(applied, functools.partial(self._come_due, item), delay_s=delay_s)
        return item

    def _come_due(self, item: Item) -> None:
        item.is_due = True
        self._on_due(item)
