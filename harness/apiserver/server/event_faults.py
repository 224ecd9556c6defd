"""Faults of the events of one watch: which one applies, and what is then sent instead."""

import functools
from collections.abc import Callable

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.server import event_queues, fault_facts
from harness.apiserver.storage import stored_objects, watch_cache
from harness.faults import injection


class EventFaults:
    """The faults of a server, as they apply to one watch."""

    def __init__(
        self,
        registry: injection.Faults,
        request: request_info.Request,
        resource: str,
        *,
        error_line: Callable[[status_errors.StatusError], bytes],
        on_due: Callable[[event_queues.Item], None],
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
    ) -> event_queues.Item:
        """Return what is sent of an event that happened `age_s` seconds ago."""
        applied = None
        if self.has_any:
            facts = fault_facts.of_event(self._request, self._resource, kind, stored)
            applied = self._registry.strike("event", facts)
        return self._item(applied, line, stored.resource_version, age_s)

    def bookmark(self, version: int, line: bytes) -> event_queues.Item:
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
    ) -> event_queues.Item:
        endings = event_queues.Ending
        match applied.action if applied else None:
            case injection.Drop():
                return event_queues.Item(b"", applied, endings.ABORT)
            case injection.Gone():
                gone = self._error_line(status_errors.expired(version - 1, version))
                return event_queues.Item(gone, applied, endings.END)
            case injection.Truncate():
                return event_queues.Item(line[: len(line) // 2], applied, endings.RESET)
            case injection.Omit():
                return event_queues.Item(b"", applied)
            case injection.Block() | injection.Delay() if applied is not None:
                return self._delayed(applied, line, age_s)
        return event_queues.Item(line)

    def _delayed(self, applied: injection.Applied, line: bytes, age_s: float) -> event_queues.Item:
        item = event_queues.Item(line, applied, is_due=False)
        action, delay_s = applied.action, None
        if isinstance(action, injection.Delay):
            delay_s = max(action.seconds - age_s, 0.0)
        self._registry.hold(applied, functools.partial(self._come_due, item), delay_s=delay_s)
        return item

    def _come_due(self, item: event_queues.Item) -> None:
        item.is_due = True
        self._on_due(item)
