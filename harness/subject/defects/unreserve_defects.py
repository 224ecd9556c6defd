"""A known defect of Unreserve: what it restores in the assume cache."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import claim_binding, scheduling_attempts


@replacements.known_as("unreserve-restores-written-claim")
class RestoresWrittenClaimBinder(claim_binding.ClaimBinder):
    def _settle(self, uid: str, written: Object | None, *, was_planned: bool) -> None:
        del was_planned
        self._assume(uid, written)

    def finish(self, attempt: scheduling_attempts.Attempt) -> None:
        for index in attempt.planned:
            self._in_flight.remove(claims.uid_of(attempt.claims[index]))
