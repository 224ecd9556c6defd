"""Known defects of how nodes that fit are compared."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.plugin import dynamic_resources, scheduling_attempts


@replacements.known_as("allocated-claim-not-scored")
class AllocatedClaimNotScoredPlugin(dynamic_resources.DynamicResources):
    def is_scored(self, attempt: scheduling_attempts.Attempt) -> bool:
        return super().is_scored(attempt) or 0 < len(attempt.to_allocate) < len(attempt.claims)

    def score(self, attempt: scheduling_attempts.Attempt, allocations: list[Object]) -> int:
        """Return the score. Raises AttemptError if there are fewer allocations than claims."""
        if len(allocations) < len(attempt.claims):
            raise scheduling_attempts.AttemptError(
                f'running Score plugins: plugin "DynamicResources" failed with: number of '
                f"allocations {len(allocations)} is smaller than number of claims "
                f"{len(attempt.claims)}"
            )
        return super().score(attempt, allocations)
