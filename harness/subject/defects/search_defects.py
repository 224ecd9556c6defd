"""Known defects of the allocator's search: it misses solutions, or finds one that is none."""

from collections.abc import Iterator, Sequence
from typing import Any

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import (
    allocators,
    attributes,
    devices,
    inventories,
    results,
    searches,
)
from harness.subject.defects import allocator_search, panics

# ------------------------------------------------------------------ counters


class CountersByPoolNameAllocator(allocators.Allocator):
    """Counters are kept by the name of the pool, without its driver (kubernetes#140434).

    Drivers name the pools of a node after the node. Of two of them, the counters of the one that is
    looked at later are not checked, so that more is given away than there is; or they are taken
    from those of the other. Seen with 1.35.6 to 1.36.3; 1.34.2 counts by slice. Fixed by
    kubernetes#140443.
    """

    facts = replacements.Facts(
        name="counters-by-pool-name",
        check="device_consumption",
        issues=("kubernetes#140434",),
        releases=replacements.Releases(first="1.35", last="1.36.3"),
        worlds=("pools-of-one-name",),
    )

    holdings_class = allocator_search.ByPoolNameHoldings
    is_monotonic = False


class CountersNotGivenBackAllocator(allocators.Allocator):
    """A device that a taint or a constraint refuses keeps its counters (kubernetes#140431).

    `allocateDevice` took the counters before it asked these, and did not give them back when one of
    them refused the device. The search misses solutions, and the pod waits. Affects 1.36.2; since
    then each refusal undoes the changes made for the device.
    """

    facts = replacements.Facts(
        name="counters-not-given-back",
        check="claim_progress",
        issues=("kubernetes#140431",),
        releases=replacements.Releases(last="1.36.2"),
        worlds=("refused-between",),
    )

    holdings_class = allocator_search.NotGivenBackHoldings
    is_monotonic = False


class _AllWithCountersSearch(searches.Search):
    def _next_of_all(self, every: tuple[devices.Device, ...]) -> Iterator[searches.Take]:
        device = every[self._taken[-1]]
        if device.consumes:
            raise panics.nil_dereference(f"the pool of device {device.id}")
        yield from super()._next_of_all(every)


class AllWithCountersAllocator(allocators.Allocator):
    """A request for all devices is a panic if one of them consumes counters (kubernetes#138882).

    The devices of such a request are collected before the search, and their pool was left out; the
    check of their counters then dereferenced it. Affects 1.35 and 1.36.0; fixed by
    kubernetes#138885, which stores the pool, and by its cherry-pick for 1.35.
    """

    facts = replacements.Facts(
        name="all-with-counters",
        check="claim_progress",
        issues=("kubernetes#138882",),
        releases=replacements.Releases(first="1.35", last="1.36.0", fixed=("1.35.6",)),
        worlds=("all-with-counters",),
    )

    search_class = _AllWithCountersSearch


# ------------------------------------------------------------------ requests and constraints


class AllAmongAlternativesAllocator(allocators.Allocator):
    """An alternative that asks for all devices, where there are none, rules the node out.

    The next alternative is not tried, and the pod waits although a device for it is free. "All"
    means at least one device, and for a request of its own it is right that a node without any is
    ruled out. Fixed in 1.36 (kubernetes#137347).
    """

    facts = replacements.Facts(
        name="all-among-alternatives",
        check="claim_progress",
        issues=("kubernetes#137347",),
        releases=replacements.Releases(last="1.35"),
        worlds=("all-or-one",),
    )

    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        every = self._every(view)
        return super()._allocate(view, node) if all(every.values()) else None


class _Values:
    """A constraint whose state a removed device restores, as it should."""

    def __init__(self, constraint: attributes.Constraint) -> None:
        self._constraint = constraint
        self._states: list[attributes.State] = [None]

    def add(self, option: Any, device: devices.Device) -> bool:
        """Add a device; return False if it violates the constraint."""
        if not self._constraint.covers(option):
            return True
        state = self._constraint.accept(self._states[-1], device)
        if state is not None:
            self._states.append(state)
        return state is not None

    def remove(self, option: Any) -> None:
        """Remove the last device that was added."""
        if self._constraint.covers(option):
            self._states.pop()


class _NarrowValues(_Values):
    """The state of the last device stays until there is no device at all."""

    def remove(self, option: Any) -> None:
        if self._constraint.covers(option):
            self._states.pop(-2 if len(self._states) > 2 else -1)


class _DistinctByRequestSearch(allocator_search.OldSearch):
    def _tracker(self, constraint: attributes.Constraint) -> allocator_search.Tracked:
        is_match = constraint.is_match
        return (_Values if is_match else allocator_search.LastValueDistinct)(constraint)


class DistinctByRequestAllocator(allocators.Allocator):
    """`distinctAttribute` remembers one value for each request (kubernetes#140438).

    A request for three devices gets x, y and x again: the second value has replaced the first.
    Seen with 1.36.2 and 1.36.3; fixed by kubernetes#140600, which remembers the value of each
    device.
    """

    facts = replacements.Facts(
        name="distinct-by-request",
        check="claim_constraints",
        issues=("kubernetes#140438",),
        releases=replacements.Releases(first="1.34", last="1.36.3"),
        worlds=("three-distinct-devices",),
    )

    search_class = _DistinctByRequestSearch
    is_monotonic = False


class _StaysNarrowSearch(allocator_search.OldSearch):
    def _tracker(self, constraint: attributes.Constraint) -> allocator_search.Tracked:
        return (_NarrowValues if constraint.is_match else _Values)(constraint)


class IntersectionStaysNarrowAllocator(allocators.Allocator):
    """`matchAttribute` over lists stays narrowed after a device was given up (kubernetes#140326).

    The devices of a claim must have a value in common. When the search gives one of several devices
    up, the values in common with that one stay left out, so that solutions are missed and the pod
    waits. Affects 1.36.2 with the gate DRAListTypeAttributes.
    """

    facts = replacements.Facts(
        name="intersection-stays-narrow",
        check="claim_progress",
        issues=("kubernetes#140326",),
        releases=replacements.Releases(
            first="1.36.2", last="1.36.2", given="with DRAListTypeAttributes"
        ),
        worlds=("lists-in-common",),
    )

    search_class = _StaysNarrowSearch
    is_monotonic = False


# ------------------------------------------------------------------ parallel Filter calls


class FilterSharesCallStateAllocator(allocators.Allocator):
    """The state of one call of `allocate` is kept in the allocator (kubernetes#133586).

    The Filter calls for several nodes share the allocator, so that one of them goes on with what
    another has put there: the devices of one node are planned for another. The first code for
    extended resources kept the claims to allocate like this (kubernetes#132976); since
    kubernetes#133587 each call has them to itself.
    """

    facts = replacements.Facts(
        name="filter-shares-call-state",
        check="reachable_devices",
        issues=("kubernetes#133586",),
        releases=replacements.Releases(words="1.34 in development"),
        worlds=("filter-threads",),
    )

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
