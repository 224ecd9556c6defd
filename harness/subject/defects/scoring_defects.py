"""Known defects of how nodes that fit are compared."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.plugin import dynamic_resources, scheduling_attempts


class AllocatedClaimNotScoredPlugin(dynamic_resources.DynamicResources):
    """A node has no score if the pod has a claim to allocate beside one that is allocated.

    Each claim of the pod is taken for one with a planned allocation, and there are fewer. Scores
    are asked for only if several nodes fit, so that it takes a shared claim for many nodes, and one
    for each pod: all pods but the first wait. Fixed by kubernetes#139017.
    """

    facts = replacements.Facts(
        name="allocated-claim-not-scored",
        check="claim_progress",
        issues=("kubernetes#139016", "kubernetes#139017"),
        releases=replacements.Releases(first="1.35", last="1.36.1", fixed=("1.35.6",)),
        worlds=("shared-and-own-claim",),
    )

    def is_scored(self, attempt: scheduling_attempts.Attempt) -> bool:
        """Return whether nodes are compared: also those for a pod with an allocated claim."""
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
