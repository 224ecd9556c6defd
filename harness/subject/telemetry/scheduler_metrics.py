"""The scheduler's metrics, with the names and labels of kube-scheduler 1.36.

They are counted from the named steps, so that the scheduler itself has nothing to do for them.
"""

from collections.abc import Callable, Mapping

from harness import concurrency
from harness.subject.extended_resources import claim_creation
from harness.subject.metrics import metric_families

_RESULTS = {
    "bind.done": "scheduled",
    "scheduling.unschedulable": "unschedulable",
    "scheduling.failed": "error",
    "bind.failed": "error",
    "bind.unschedulable": "unschedulable",
}
"""By step that ends an attempt: the label `result`."""
_CREATIONS = {
    claim_creation.CREATED: "success",
    claim_creation.NOT_CREATED: "failure",
}
"""By step after the creation of a claim for extended resources: the label `status`."""


class SchedulerMetrics:
    """A step listener that counts the scheduler's attempts."""

    def __init__(self, profile: str) -> None:
        """`profile` is the scheduler's name, a label of its metrics."""
        self._profile = profile
        self._attempts = metric_families.Counter(
            "scheduler_schedule_attempts_total",
            "Number of attempts to schedule pods, by the result.",
            ("profile", "result"),
        )
        self._creations = metric_families.Counter(
            "scheduler_resourceclaim_creates_total",
            "Number of ResourceClaims creation requests within scheduler",
            ("status",),
        )

    def __call__(self, name: str, fields: concurrency.StepFields) -> None:
        """Count the step if it ends an attempt, or follows a creation."""
        del fields
        if (status := _CREATIONS.get(name)) is not None:
            self._creations.add(status)
        if (result := _RESULTS.get(name)) is not None:
            self._attempts.add(self._profile, result)

    def collect(self, pending: Callable[[], Mapping[str, int]]) -> list[metric_families.Family]:
        """Return the present values; `pending()` gives the number of waiting pods by queue."""
        samples: dict[metric_families.Labels, float] = {
            (queue,): float(count) for queue, count in pending().items()
        }
        gauge = metric_families.Family(
            "scheduler_pending_pods",
            "Number of pending pods, by the queue type.",
            "gauge",
            ("queue",),
            samples,
        )
        return [self._attempts.collect(), self._creations.collect(), gauge]
