"""A pod in the scheduling queue, with its place and what is known about it.

After QueuedPodInfo in k8s.io/kube-scheduler/framework.
"""

import dataclasses
import enum

from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.queueing import cluster_events, queueing_hints


class Place(enum.Enum):
    """The place of a pod in the queue."""

    GATED = "gated"
    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    IN_FLIGHT = "in flight"


@dataclasses.dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod with its place and its scheduling attempts."""

    pod: Object
    place: Place = Place.GATED
    attempts: int = 0
    failed_s: float = 0.0
    """Monotonic time at which the last attempt failed, in seconds."""
    rejectors: frozenset[str] = frozenset()
    """The plugins that rejected the pod in its last attempt; empty: it is not known."""

    @property
    def uid(self) -> str:
        """The UID of the pod."""
        return claims.uid_of(self.pod)


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The hint about a pod and an event."""

    hint: queueing_hints.Hint
    pod_uid: str
    event: cluster_events.ClusterEvent
