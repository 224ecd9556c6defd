"""Known defects of the allocator: what a result says, and what an error ends."""

from collections.abc import Iterable, Iterator, Sequence

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocators, device_requests, results


@replacements.known_as("tolerations-lost")
class TolerationsLostAllocator(allocators.Allocator):
    def _result(self, claim: Object, chosen: Sequence[results.Choice], node: Object) -> Object:
        found = super()._result(claim, chosen, node)
        for row in found["devices"]["results"]:
            row.pop("tolerations", None)
        return found


@replacements.known_as("config-repeated")
class ConfigRepeatedAllocator(allocators.Allocator):
    def _claim_config(self, claim: Object, chosen: Sequence[results.Choice]) -> Iterator[Object]:
        for item in super()._claim_config(claim, chosen):
            yield from [item] * max(len(results.users_of(item, chosen)), 1)


@replacements.known_as("config-widened")
class ConfigWidenedAllocator(allocators.Allocator):
    def _claim_config(self, claim: Object, chosen: Sequence[results.Choice]) -> Iterable[Object]:
        total = len(claim["spec"]["devices"]["requests"])
        for item in super()._claim_config(claim, chosen):
            if len(item.get("requests") or ()) == total:
                yield {key: value for key, value in item.items() if key != "requests"}
            else:
                yield item


@replacements.known_as("all-ends-attempt")
class AllEndsAttemptAllocator(allocators.Allocator):
    def may_fail(self) -> bool:
        wants_all = any(
            option.count is None for request in self._requests for option in request.options
        )
        return super().may_fail() or (wants_all and self._snapshot.failures.has_faults)

    def _refuse(self, error: device_requests.PoolNotReadyError) -> list[Object] | None:
        raise error
