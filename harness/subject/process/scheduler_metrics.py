"""The scheduler's metrics, with the names and labels of kube-scheduler 1.36.

They are counted from the named steps, so that the scheduler itself has nothing to do for them.
"""

from collections.abc import Callable, Mapping

from harness import concurrency
from harness.metrics import instruments, metric_families
from harness.subject.extended_resources import claim_creation
from harness.subject.plugin import binding_conditions

_RESULTS = {
    "bind.done": "scheduled",
    "scheduling.unschedulable": "unschedulable",
    "scheduling.failed": "error",
    "bind.failed": "error",
    "bind.unschedulable": "unschedulable",
}
"""The label `result` of each step that ends an attempt."""
_CREATIONS = {
    claim_creation.CREATED: "success",
    claim_creation.NOT_CREATED: "failure",
}
"""The label `status` of each step after the creation of a claim for extended resources."""
_ATTEMPT_BUCKETS = tuple(0.001 * 2**power for power in range(15))
_WAIT_BUCKETS = tuple(0.1 * 2**power for power in range(14))
"""Upper limits in seconds, as those of kube-scheduler."""


class SchedulerMetrics:
    """A step listener that counts the scheduler's attempts."""

    def __init__(self, profile: str) -> None:
        """`profile` is the scheduler's name, a label of its metrics."""
        self._profile = profile
        self._attempts = instruments.Counter(
            "scheduler_schedule_attempts_total",
            "Number of attempts to schedule pods, by the result.",
            ("profile", "result"),
        )
        self._durations = instruments.Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            ("profile", "result"),
            buckets=_ATTEMPT_BUCKETS,
        )
        self._started_s: dict[str, float] = {}
        """Begin of each pod's attempt by UID, in monotonic seconds, until it ends."""
        self._creations = instruments.Counter(
            "scheduler_resourceclaim_creates_total",
            "Number of ResourceClaims creation requests within scheduler",
            ("status",),
        )
        labels = ("profile", "driver", "status")
        self._waits = instruments.Counter(
            "scheduler_dra_bindingconditions_allocations_total",
            "Number of allocations using devices with BindingConditions, counted per driver per "
            "scheduling attempt",
            labels,
        )
        self._wait_durations = instruments.Histogram(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
            labels,
            buckets=_WAIT_BUCKETS,
        )

    def __call__(self, name: str, fields: concurrency.StepFields) -> None:
        """Count the step if it ends an attempt or a wait, or follows a creation."""
        if name == binding_conditions.ENDED:
            labels = (self._profile, fields["driver"], fields["status"])
            self._waits.add(*labels)
            self._wait_durations.observe(fields["waited_ms"] / 1000, *labels)
        if (status := _CREATIONS.get(name)) is not None:
            self._creations.add(status)
        if name == "scheduling.started":
            self._started_s[fields["pod"]] = concurrency.monotonic_s()
        if (result := _RESULTS.get(name)) is not None:
            self._end_attempt(fields["pod"], result)

    def _end_attempt(self, pod: str, result: str) -> None:
        self._attempts.add(self._profile, result)
        started_s = self._started_s.pop(pod, None)
        if started_s is not None:
            seconds = concurrency.monotonic_s() - started_s
            self._durations.observe(seconds, self._profile, result)

    def collect(
        self,
        pending: Callable[[], Mapping[str, int]],
        incoming: Callable[[], Mapping[tuple[str, str], int]] = dict,
    ) -> list[metric_families.Family]:
        """Return the present values.

        `pending()` gives the number of waiting pods by queue, `incoming()` how many pods have come
        to a queue because of an event, by queue and event.
        """
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
        arrivals = metric_families.Family(
            "scheduler_queue_incoming_pods_total",
            "Number of pods added to scheduling queues by event and queue type.",
            "counter",
            ("queue", "event"),
            {labels: float(count) for labels, count in incoming().items()},
        )
        counted = (
            self._attempts,
            self._durations,
            self._creations,
            self._waits,
            self._wait_durations,
        )
        return [*(item.collect() for item in counted), gauge, arrivals]
