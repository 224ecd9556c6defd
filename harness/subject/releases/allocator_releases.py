"""Differences of the structured allocator in the releases: defects that one class has together.

One difference of 1.34 is not played: it counts by slice, not by pool.
"""

from typing import ClassVar

from harness.extensions import replacements
from harness.subject.allocation import device_requests, devices, holdings
from harness.subject.defects import allocator_search, capacity_defects, counter_defects

_OF_ALL = ("admin-access-charged", "negative-counters")
"""Known defects of what is charged that each release has."""
_UP_TO_1_36_3 = (
    *_OF_ALL,
    "capacity-wraps",
    "counters-changed",
    "distinct-by-request",
    "negative-capacity",
    "ranges-in-integers",
    "share-taken-whole",
)


class ChargedHoldings(
    counter_defects.AdminAccessChargedHoldings, counter_defects.NegativeCountersHoldings
):
    """Admin access is charged, and amounts may be below zero, as in every release."""


class ChargedAllocator(counter_defects.NegativeCountersAllocator):
    """Admin access takes counters (kubernetes#140729), and so do amounts below zero (#141216)."""

    facts = replacements.Facts(
        name="charged-as-released",
        releases=replacements.Releases(first="1.37", last="1.37", is_open=True),
        instead_of=_OF_ALL,
    )

    holdings_class = ChargedHoldings


class NamedPoolsHoldings(
    counter_defects.CountersChangedHoldings,
    allocator_search.ByPoolNameHoldings,
    counter_defects.ShareChargedAgainHoldings,
    capacity_defects.ShareTakenWholeHoldings,
    ChargedHoldings,
):
    """Devices, shares and amounts as in 1.36.3."""

    rules = capacity_defects.OldRules()


class LeakingHoldings(NamedPoolsHoldings, allocator_search.NotGivenBackHoldings):
    """The same from 1.35 to 1.36.2."""


class LeftoversAllocator(
    counter_defects.CountersChangedAllocator, counter_defects.NegativeCountersAllocator
):
    """The search keeps what a refused device left behind: counters, or a request without a value.

    It misses solutions (kubernetes#140431), or finds one that is none (#140438); lists match
    nothing. Counters are given back since 1.36.3, the others are fixed later. It ends at the same
    deadline as the correct search, but leaves out nothing that is known to fail. It computes with
    quantities as up to 1.36.3.
    """

    facts = replacements.Facts(
        name="leftovers",
        releases=replacements.Releases(first="1.35", last="1.36.2"),
        instead_of=(
            *_UP_TO_1_36_3,
            "counters-by-pool-name",
            "counters-not-given-back",
            "share-charged-again",
        ),
    )

    search_class = allocator_search.OldSearch
    holdings_class: ClassVar[type[holdings.Holdings]] = LeakingHoldings
    is_monotonic = False


class NamedPoolsAllocator(LeftoversAllocator):
    """As before, but a device that is refused gives its counters back (kubernetes#140431)."""

    facts = replacements.Facts(
        name="leftovers-without-counters",
        releases=replacements.Releases(first="1.36.3", last="1.36.3"),
        instead_of=(*_UP_TO_1_36_3, "counters-by-pool-name", "share-charged-again"),
    )

    holdings_class = NamedPoolsHoldings


class AnyEffectHoldings(
    counter_defects.CountersChangedHoldings,
    allocator_search.NotGivenBackHoldings,
    counter_defects.EachShareChargedHoldings,
    capacity_defects.ShareTakenWholeHoldings,
    ChargedHoldings,
):
    """A taint keeps a device from being allocated whatever its effect is.

    Counters are not those of all pools of one name: that came after 1.34 (kubernetes#140434). Each
    share is charged.
    """

    rules = capacity_defects.OldRules()

    def _is_tolerated(self, option: device_requests.Option, device: devices.Device) -> bool:
        return devices.are_tolerated(device.document.get("taints") or (), option.tolerations)


class AnyEffectAllocator(LeftoversAllocator):
    """The allocator of 1.34: taints of any effect count.

    The search keeps what a refused device left, as up to 1.36.2.
    """

    facts = replacements.Facts(
        name="taints-of-any-effect",
        releases=replacements.Releases(last="1.34"),
        instead_of=(*_UP_TO_1_36_3, "counters-not-given-back", "each-share-charged"),
    )

    holdings_class = AnyEffectHoldings
