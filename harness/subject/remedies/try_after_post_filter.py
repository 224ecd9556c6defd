"""A remedy for hypotheses H12 and H15: a pod that waits after PostFilter for no event."""

from harness import concurrency
from harness.client import apis, transports
from harness.extensions import replacements
from harness.subject.objects import claims
from harness.subject.plugin import dynamic_resources, misplaced_claims, scheduling_attempts


class TryingAgainPlugin(dynamic_resources.DynamicResources):
    """A pod is tried again after its backoff when PostFilter deleted a claim, or its write failed.

    Hypotheses H12 and H15. PostFilter frees or deletes a claim for a pod that fits no node, and the
    pod waits for an event. If it deletes a claim for extended resources that an earlier attempt
    left over, no hint takes the event for help. If its write meets a conflict or gets no answer,
    there may be no event that helps, and the error is only logged (`PostFilter` in
    pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go). The pod
    waits for another event, or five minutes.

    Upstream could do this: let PostFilter return an error status that puts the pod into the
    backoff queue in both cases, as an error of Filter does.

    Why it is enough: every further attempt reads the claims again, so that in the end the write is
    done, or there is nothing to free. It costs one attempt for each such answer of PostFilter.

    Not covered: a claim that is deallocated, as far as its event is not lost; that one is a hint.
    """

    facts = replacements.Facts(name="try-again-after-post-filter")

    def post_filter(self, attempt: scheduling_attempts.Attempt) -> str:
        """Free what keeps the pod from every node; return what was done.

        Raises AttemptError, after which the pod backs off, if that failed or comes with no event.
        """
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
