"""Tells if the search for devices may fail on some node, which ends the attempt for all nodes.

Upstream filters a sample of the nodes before it chooses one, so that an error on any of them ends
the attempt (kubernetes#125488). Nearly always there is no such node, and the first one that fits
will do. The answers here are about all pools, and are computed once until a slice changes.
"""

import collections
import functools
from collections.abc import Collection

from harness.subject.allocation import expressions, pools


class PossibleFailures:
    """Answers for some pools, whatever devices are in use."""

    def __init__(self, known: Collection[pools.Pool]) -> None:
        self._pools = known
        self._of_selectors: dict[tuple[str, ...], bool] = {}

    def of_selectors(self, selectors: tuple[str, ...]) -> bool:
        """Return whether the CEL selectors of a request cannot be evaluated on some device."""
        if selectors not in self._of_selectors:
            if len(self._of_selectors) >= expressions.CACHE_SIZE:
                self._of_selectors.clear()
            self._of_selectors[selectors] = bool(selectors) and any(
                device.fails(selectors) for pool in self._pools for device in pool.every_device()
            )
        return self._of_selectors[selectors]

    @functools.cached_property
    def has_faults(self) -> bool:
        """A pool may be incomplete or invalid for some node."""
        return any(pool.may_be_faulty() for pool in self._pools)

    @functools.cached_property
    def devices_on_a_node_max(self) -> int:
        """No node sees more devices than these."""
        counts: collections.Counter[str | None] = collections.Counter()
        for pool in self._pools:
            counts[pool.node_name] += sum(1 for _ in pool.every_device())
        shared = counts.pop(None, 0)
        return shared + max(counts.values(), default=0)
