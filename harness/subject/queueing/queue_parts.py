"""The pods of a scheduling queue, and the events that those in flight miss."""

import collections
import dataclasses
import enum
import itertools
from collections.abc import Sequence

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
        return claims.uid_of(self.pod)


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The hint about a pod and an event."""

    hint: queueing_hints.Hint
    pod_uid: str
    event: cluster_events.ClusterEvent


EVENTS_MAX = 10_000
"""Events to keep; a pod that has missed more of them is retried."""


class InFlightEvents:
    """Which events each pod in flight has missed; the queue's lock protects it."""

    def __init__(self) -> None:
        self._count = 0
        """Number of events so far."""
        self._events: collections.deque[cluster_events.ClusterEvent] = collections.deque()
        """The newest events, as many as the oldest pod in flight has missed."""
        self._since: dict[str, int] = {}
        """Number of events before each pod in flight, by UID, the oldest first."""

    def begin(self, uid: str) -> None:
        self.end(uid)
        self._since[uid] = self._count

    def add(self, event: cluster_events.ClusterEvent) -> None:
        if self._since:
            self._count += 1
            self._events.append(event)
            if len(self._events) > EVENTS_MAX:
                self._events.popleft()

    def missed(self, uid: str) -> Sequence[cluster_events.ClusterEvent]:
        """Return the events since the pod is in flight; none if it is not.

        If some of them were dropped, the only one is that the pod has waited long enough.
        """
        length = self._count - self._since.get(uid, self._count)
        if length > len(self._events):
            return [cluster_events.UNSCHEDULABLE_TIMEOUT]
        return list(itertools.islice(self._events, len(self._events) - length, None))

    def end(self, uid: str) -> None:
        """Forget the pod, and the events that no other pod has to know."""
        self._since.pop(uid, None)
        oldest = next(iter(self._since.values()), self._count)
        while len(self._events) > self._count - oldest:
            self._events.popleft()
