"""Differences of the structured allocator in the releases up to 1.36.3.

One difference of 1.34 is not played: it counts by slice, not by pool.
"""

from typing import ClassVar

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocators, device_requests, devices, holdings
from harness.subject.defects import allocator_search


class LeftoversAllocator(allocators.Allocator):
    """The search keeps what a refused device left behind: counters, or a request without a value.

    It misses solutions (kubernetes#140431), or finds one that is none (#140438); lists match
    nothing. Counters are given back since 1.36.3, the others are fixed later. It ends at the same
    deadline as the correct search, but leaves out nothing that is known to fail.
    """

    facts = replacements.Facts(
        name="leftovers",
        releases=replacements.Releases(first="1.35", last="1.36.2"),
        instead_of=("counters-by-pool-name", "counters-not-given-back", "distinct-by-request"),
    )

    search_class = allocator_search.OldSearch
    holdings_class: ClassVar[type[holdings.Holdings]] = allocator_search.LeakingHoldings
    is_monotonic = False


class NamedPoolsAllocator(LeftoversAllocator):
    """As before, but a device that is refused gives its counters back (kubernetes#140431)."""

    facts = replacements.Facts(
        name="leftovers-without-counters",
        releases=replacements.Releases(first="1.36.3", last="1.36.3"),
        instead_of=("counters-by-pool-name", "distinct-by-request"),
    )

    holdings_class = allocator_search.ByPoolNameHoldings


class AnyEffectHoldings(allocator_search.NotGivenBackHoldings):
    """A taint keeps a device from being allocated whatever its effect is.

    Counters are not those of all pools of one name: that came after 1.34 (kubernetes#140434).
    """

    def _is_tolerated(self, option: device_requests.Option, device: devices.Device) -> bool:
        return devices.are_tolerated(device.document.get("taints") or (), option.tolerations)


class PlainResultsAllocator(LeftoversAllocator):
    """The allocator of 1.34: taints of any effect count, and results are without the request's
    tolerations.

    The search keeps what a refused device left, as up to 1.36.2.
    """

    facts = replacements.Facts(
        name="plain-results",
        releases=replacements.Releases(last="1.34"),
        instead_of=("counters-not-given-back", "distinct-by-request"),
    )

    holdings_class = AnyEffectHoldings

    def allocate(self, node: Object) -> list[Object] | None:
        """Return one AllocationResult per claim, without tolerations."""
        found = super().allocate(node)
        for allocation in found or ():
            for row in allocation["devices"]["results"]:
                row.pop("tolerations", None)
        return found
