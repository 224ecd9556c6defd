"""How many devices the claims of a run can have kept from each other at most, at any moment.

A scheduler keeps a device from a claim while another claim holds it, and while it has chosen it for
another claim and the write is under way. The record does not show choices that were never written.
But there is a limit to them: for each claim, one choice at most is under way, and a scheduler that
is late may still take each device that was ever allocated for a device in use.
"""

import bisect
import math
from collections.abc import Sequence

from harness.checks.devices import request_options
from harness.checks.observed import folders, observations, observed_claims
from harness.history import records

COUNTED_MAX = 4096
"""Devices that are counted; more than this may be all devices of a node."""


class DeviceDemand(folders.Folder):
    """The devices that all claims may have taken, by resourceVersion."""

    def __init__(self) -> None:
        self._versions: list[int] = []
        self._sums: list[float] = []
        """The devices that may be taken from each version on."""
        self._total = 0.0
        """The last of them."""
        self._last: dict[str, observed_claims.Allocation | None] = {}
        """Keyed by the uid of each claim that was seen."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note what a claim may choose when it is first seen, and what each allocation takes."""
        if self._total > COUNTED_MAX:
            return
        uid, allocation = seen.object.metadata.uid, seen.object.status.allocation
        more = 0.0 if uid in self._last else most(seen.object.spec.devices.requests or ())
        if allocation is not None and allocation != self._last.get(uid):
            more += len(allocation.devices.results)
        self._last[uid] = allocation
        # Claims in the first list existed before all later versions.
        self._add(more, since=0 if seen.type == "LISTED" else seen.version)

    def see_gap(self, gap: records.Gap) -> None:
        """Count no more: claims may have come that were not seen."""
        if gap.resource == observations.CLAIMS:
            self._add(math.inf, since=gap.after_resource_version)

    def _add(self, more: float, *, since: int) -> None:
        self._versions.append(since)
        self._total += more
        self._sums.append(self._total)

    def until(self, version: int) -> float:
        """Return the largest number of devices that can have been taken before a version.

        Infinity if there is no limit, or too much to count.
        """
        index = bisect.bisect_left(self._versions, version)
        taken = self._sums[index - 1] if index else 0.0
        return taken if taken <= COUNTED_MAX else math.inf


def most(requests: Sequence[observed_claims.Request]) -> float:
    """Return the largest number of devices that requests can have; infinity: there is no limit."""
    return sum(
        max((_most_of(option) for option in request_options.options_of(request)), default=0.0)
        for request in requests
    )


def _most_of(option: request_options.Option) -> float:
    return math.inf if option.count is None else option.count
