"""Remedies of the scheduler that are a few lines each: H2, H21, H12 and H15."""

from collections.abc import Iterator

from harness import concurrency
from harness.client import apis, transports
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import (
    claim_binding,
    dynamic_resources,
    misplaced_claims,
    scheduling_attempts,
)
from harness.subject.tracking import allocated_devices


@replacements.known_as("compare-devices-on-update")
class ComparedDevices(allocated_devices.AllocatedDevices):
    def on_update(self, old: Object, new: Object) -> None:
        before, after = claims.allocation_of(old), claims.allocation_of(new)
        taken, freed = _without(after, before), _without(before, after)
        if before and after and (taken or freed):
            concurrency.step("remedy.reallocation-seen", claim=claims.uid_of(new))
        if taken:
            self._insert(new, taken)
        if freed:
            self._remove(new, freed)


def _without(allocation: Object | None, other: Object | None) -> Object | None:
    """Return an allocation without the devices and shares of another; None: nothing is left."""
    known = set(_held(other))
    results = (allocation or {}).get("devices", {}).get("results", ())
    left = [row for row in results if not known.issuperset(_held({"devices": {"results": [row]}}))]
    return {"devices": {"results": left}} if left else None


def _held(allocation: Object | None) -> Iterator[str]:
    yield from claims.exclusive_devices(allocation)
    for device, share, _ in claims.shares(allocation):
        yield f"{device}/{share}"


@replacements.known_as("restore-only-unwritten")
class RestoreUnwrittenBinder(claim_binding.ClaimBinder):
    def _restore(self, claim: Object) -> None:
        if claims.allocation_of(claim):
            concurrency.step("remedy.not-restored", claim=claims.uid_of(claim))
        else:
            super()._restore(claim)


@replacements.known_as("try-again-after-post-filter")
class TryingAgainPlugin(dynamic_resources.DynamicResources):
    def post_filter(self, attempt: scheduling_attempts.Attempt) -> str:
        try:
            done = super().post_filter(attempt)
        except (apis.ApiError, transports.TransportError) as error:
            raise self._postponed(attempt, str(error)) from error
        if done == misplaced_claims.DELETED:
            raise self._postponed(attempt, done)
        return done

    @staticmethod
    def _postponed(
        attempt: scheduling_attempts.Attempt, reason: str
    ) -> scheduling_attempts.AttemptError:
        concurrency.step("remedy.tried-again", pod=claims.uid_of(attempt.pod), reason=reason)
        return scheduling_attempts.AttemptError(f"PostFilter: {reason}")
