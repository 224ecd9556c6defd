"""Known defects of the allocator: what a result says, and what an error ends."""

from collections.abc import Iterable, Iterator, Sequence

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocators, device_requests, results


class TolerationsLostAllocator(allocators.Allocator):
    """Results are without the tolerations of their requests.

    So the controller that evicts pods from devices tainted NoExecute evicts at once a pod whose
    request tolerates the taint. Fixed in 1.35 (kubernetes#134479).
    """

    facts = replacements.Facts(
        name="tolerations-lost",
        check="copied_results",
        issues=("kubernetes#134434",),
        releases=replacements.Releases(first="1.33", last="1.34"),
        worlds=("tolerated-taint",),
    )

    def _result(self, claim: Object, chosen: Sequence[results.Choice], node: Object) -> Object:
        found = super()._result(claim, chosen, node)
        for row in found["devices"]["results"]:
            row.pop("tolerations", None)
        return found


class ConfigRepeatedAllocator(allocators.Allocator):
    """Configuration for several requests comes once for each of them.

    A driver that applies all that it finds applies it several times. Fixed by kubernetes#139732.
    """

    facts = replacements.Facts(
        name="config-repeated",
        check="copied_results",
        issues=("kubernetes#139730", "kubernetes#139732"),
        releases=replacements.Releases(last="1.36.3"),
        worlds=("config-of-two-requests",),
    )

    def _claim_config(self, claim: Object, chosen: Sequence[results.Choice]) -> Iterator[Object]:
        for item in super()._claim_config(claim, chosen):
            yield from [item] * max(len(results.users_of(item, chosen)), 1)


class ConfigWidenedAllocator(allocators.Allocator):
    """Configuration for some alternatives of one request becomes one for the whole claim.

    It does when it names as many alternatives as the claim has requests: the list was taken for one
    of all requests, and left out. Development of 1.37 (kubernetes#139731); mended before its
    release (kubernetes#139814).
    """

    facts = replacements.Facts(
        name="config-widened",
        check="copied_results",
        issues=("kubernetes#139803", "kubernetes#139814"),
        releases=replacements.Releases(words="1.37 in development"),
        worlds=("config-of-alternatives",),
    )

    def _claim_config(self, claim: Object, chosen: Sequence[results.Choice]) -> Iterable[Object]:
        total = len(claim["spec"]["devices"]["requests"])
        for item in super()._claim_config(claim, chosen):
            if len(item.get("requests") or ()) == total:
                yield {key: value for key, value in item.items() if key != "requests"}
            else:
                yield item


class AllEndsAttemptAllocator(allocators.Allocator):
    """A request for all devices is an error on every node, if a pool of one node is not ready.

    An incomplete or an invalid pool ends the attempt, although another node could satisfy the
    request. Fixed by kubernetes#141898: only the node is ruled out.
    """

    facts = replacements.Facts(
        name="all-ends-attempt",
        check="claim_progress",
        issues=("kubernetes#141829", "kubernetes#141898"),
        releases=replacements.Releases(last="1.37"),
        worlds=("all-beside-incomplete",),
    )

    def may_fail(self) -> bool:
        """Return whether a node may end the attempt; one with a pool that is not ready does."""
        wants_all = any(
            option.count is None for request in self._requests for option in request.options
        )
        return super().may_fail() or (wants_all and self._snapshot.failures.has_faults)

    def _refuse(self, error: device_requests.PoolNotReadyError) -> list[Object] | None:
        raise error
