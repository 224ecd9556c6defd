"""The events that happen while pods are in flight, kept until their attempts have ended.

After activeQueue.inFlightEvents in pkg/scheduler/backend/queue/active_queue.go. An event during an
attempt may come too late for the attempt, and too early for the place where the pod waits when the
attempt has failed. Unlike upstream, a pod stays in flight until it is bound, because a binding may
fail as unschedulable, too; so the number of events is limited.
"""

import collections
import itertools
from collections.abc import Sequence

from harness.subject.queueing import cluster_events

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
        """By UID of the pods in flight, the oldest first: the number of events before it."""

    def begin(self, uid: str) -> None:
        """Remember events for this pod from now on."""
        self.end(uid)
        self._since[uid] = self._count

    def add(self, event: cluster_events.ClusterEvent) -> None:
        """Remember an event for the pods that are in flight now."""
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
