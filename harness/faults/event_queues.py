"""The events of one watch that wait, and what a fault does to one.

Each event becomes due on its own, so that a lag of one second delays every event by one second and
not by the sum, and none overtakes another. The end of the watch takes its turn, too.
"""

import collections
import enum
import functools
from collections.abc import Callable

import msgspec

from harness.faults import injection, matching


class Ending(enum.Enum):
    """How a watch ends when an item's turn comes."""

    CLOSE = "its connection is closed at once"
    RESET = "its connection is reset after the item"
    END = "its response ends after the item"


class Item(msgspec.Struct, eq=False):
    """One event, or a part of one, and the fault that applies to it."""

    frame: bytes = b""
    """Its line or frame; empty: nothing is sent."""
    applied: injection.Applied | None = None
    ending: Ending | None = None
    is_due: bool = True
    """False while a fault holds or delays it."""
    version: int = 0
    """The version that a client has seen with it; 0: it is not sent, or not as a whole."""


class EventQueue:
    """The items of one watch that wait."""

    def __init__(
        self, faults: injection.Faults, *, gone: Callable[[int], bytes], on_due: Callable[[], None]
    ) -> None:
        """`gone` returns the event that ends a watch with 410 at a version.

        `on_due` is called when an item that was held or delayed is due.
        """
        self._faults, self._gone, self._on_due = faults, gone, on_due
        self._items: collections.deque[Item] = collections.deque()
        self._is_over = False
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def first(self) -> Item | None:
        """The item whose turn it is; None while it is not due, or if there is none."""
        return self._items[0] if self._items and self._items[0].is_due else None

    def item(self, frame: bytes, facts: matching.Facts, *, age_s: float = 0.0) -> Item:
        """Return what is sent of an event that happened `age_s` seconds ago; `put` follows.

        After the end of the watch that is nothing: what is not delivered uses up no fault.
        """
        if self._is_over:
            return Item()
        applied, version = self._faults.strike("event", facts), facts.resource_version
        if applied is None:
            return Item(frame, version=version)
        item = Item(frame, applied, version=version)
        match applied.action:
            case injection.Drop():
                item = Item(b"", applied, Ending.CLOSE)
            case injection.Gone():
                item = Item(self._gone(version), applied, Ending.END)
            case injection.Truncate():
                item = Item(frame[: len(frame) // 2], applied, Ending.RESET)
            case injection.Omit():
                item = Item(b"", applied)
        if applied.ended is None:
            item.is_due = False
            self._faults.hold(applied, functools.partial(self._come_due, item), age_s=age_s)
        return item

    def put(self, item: Item) -> None:
        """Let an item wait for its turn; nothing comes after the end of the watch."""
        if not self._is_over:
            self._is_over = item.ending is not None
            self._items.append(item)
            self.size_bytes += len(item.frame)

    def pop(self) -> Item:
        """Take the first item, whose turn has come."""
        item = self._items.popleft()
        self.size_bytes -= len(item.frame)
        self._note_end(item)
        return item

    def close(self) -> None:
        """Drop all items: nothing more can be sent."""
        self._is_over = True
        while self._items:
            item = self._items.popleft()
            if item.is_due:
                self._note_end(item)
        self.size_bytes = 0

    def _come_due(self, item: Item) -> None:
        item.is_due = True
        if self._is_over and item not in self._items:
            self._note_end(item)
        self._on_due()

    def _note_end(self, item: Item) -> None:
        """Record that an item was sent, or came due when the watch had ended."""
        if item.applied is not None:
            self._faults.end(item.applied)
