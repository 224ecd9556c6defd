"""The events that wait to be sent on one watch, in their order.

An event waits while a fault holds or delays it, behind an earlier one that waits, and while the
past of its watch is still being sent. No event overtakes another one.
"""

import collections
import enum
from collections.abc import Callable

import msgspec

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


class EventQueue:
    """The items of one watch that wait."""

    def __init__(self, perform: Callable[[Item], None]) -> None:
        """`perform` sends an item when its turn has come."""
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
