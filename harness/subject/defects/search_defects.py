"""Known defects of the allocator's search: it misses solutions, or finds one that is none."""

from collections.abc import Iterator, Sequence
from typing import Any

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import (
    allocators,
    devices,
    inventories,
    results,
    searches,
)
from harness.subject.defects import panics

# ------------------------------------------------------------------ counters


@replacements.known_as("all-with-counters")
class AllWithCountersSearch(searches.Search):
    def _next_of_all(self, every: tuple[devices.Device, ...]) -> Iterator[searches.Take]:
        device = every[self._taken[-1]]
        if device.consumes:
            raise panics.nil_dereference(f"the pool of device {device.id}")
        yield from super()._next_of_all(every)


# ------------------------------------------------------------------ requests and constraints


@replacements.known_as("all-among-alternatives")
class AllAmongAlternativesAllocator(allocators.Allocator):
    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        every = self._every(view)
        return super()._allocate(view, node) if all(every.values()) else None


# ------------------------------------------------------------------ parallel Filter calls


@replacements.known_as("filter-shares-call-state")
class FilterSharesCallStateAllocator(allocators.Allocator):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._guard = concurrency.lock("allocator.call")
        """Protects nothing but the field itself."""
        self._search: searches.Search | None = None

    def _solution(self, search: searches.Search) -> Sequence[results.Choice] | None:
        with self._guard:
            self._search = search
        with self._guard:
            current = self._search
        return super()._solution(current)
