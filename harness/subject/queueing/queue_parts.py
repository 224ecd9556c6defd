"""The parts of the scheduling queue, for an explorer: what each method uses under its one lock.

Two methods that use different parts may be called in either order (see `concurrency.in_parts`).
Counters are no part: those who read them take the lock as a whole.
"""

import contextlib
from collections.abc import Iterator

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.queueing import cluster_events

POD, USERS = "pod", "users"
"""Each pod by UID, with its place; the users of each claim."""
ACTIVE, UNSCHEDULABLE, TIMERS = "active", "unschedulable", "timers"
"""The order of active and of unschedulable pods; the timers."""
_MISSED = "missed"
"""The events that pods in flight miss, by claim; those that may help any pod have an empty key."""


class QueueParts:
    """Declares uses of the parts of one scheduling queue."""

    def __init__(self, guard: concurrency.Lock) -> None:
        """`guard`: the queue's lock."""
        self._guard = guard

    def reads(self, *part: str) -> None:
        """Declare that a part is read."""
        concurrency.reads(self._guard, *part)

    def writes(self, *part: str) -> None:
        """Declare that a part is changed."""
        concurrency.writes(self._guard, *part)

    def adds_user(self, claim_key: str) -> None:
        """Declare that a user of a claim comes or goes."""
        concurrency.adds(self._guard, USERS, claim_key)

    @contextlib.contextmanager
    def with_pod(self, uid: str) -> Iterator[None]:
        """Hold the lock for what changes a pod."""
        with concurrency.in_parts(self._guard):
            self.writes(POD, uid)
            yield

    def happens(self, event: cluster_events.ClusterEvent) -> None:
        """Declare that the pods in flight miss an event; in which order matters to none of them."""
        key = informers.key_of(event.subject) if event.is_for_users else ""
        concurrency.writes(self._guard, _MISSED, key)
        concurrency.adds(self._guard, _MISSED)

    def misses(self, pod: Object) -> None:
        """Declare that the pod's flight begins or ends: it depends on the events that concern it.

        The end of one pod's flight changes nothing for another. The names of generated claims may
        change meanwhile.
        """
        names = [it.get("resourceClaimName") for it in pod["spec"].get("resourceClaims") or ()]
        if not all(names):
            self.reads(_MISSED)
            return
        for key in ("", *(f"{pod['metadata']['namespace']}/{name}" for name in names)):
            self.reads(_MISSED, key)
