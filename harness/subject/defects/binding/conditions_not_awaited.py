"""A mutant: PreBind does not wait for binding conditions."""

from harness.subject.plugin import binding_conditions, scheduling_attempts


class NotAwaitedConditions(binding_conditions.BindingConditions):
    """A pod is bound as soon as its claims are written, whether its devices are ready or not.

    The kubelet then prepares a device that is not attached to its node yet, or never will be. This
    mutant of PreBind (KEP-5007) was never shipped. An allocation whose attachment fails is not
    given up either, because the pod runs.
    """

    def wait(self, attempt: scheduling_attempts.Attempt) -> None:
        """Return at once."""
        del attempt
