"""The scheduling queue: gated, active, backing-off and unschedulable pods.

After PriorityQueue in pkg/scheduler/backend/queue/scheduling_queue.go. A pod is in one of these
four places, or in flight: taken by the scheduling thread and neither bound nor returned. An event
that may make pods schedulable moves unschedulable pods on. For a pod in flight it is remembered, so
that an event during an attempt is not lost. As upstream since 1.37, pods are indexed by their
claims, so that the cost of an event depends on the pods it concerns, not on the queue's length.
"""

import collections
import dataclasses
import enum
import heapq
import itertools
from collections.abc import Callable
from typing import Any

from harness import concurrency
from harness.subject import claims

Object = dict[str, Any]
FLUSH_S = 300.0
"""Seconds after which an unschedulable pod is retried without an event, as upstream.

Without it a lost event could leave a pod unscheduled forever.
"""


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
    seen_moves: int = 0
    """The number of `move_all` calls before the attempt began."""
    was_moved: bool = False
    """True if an event concerned the pod's claims while it was in flight."""

    @property
    def uid(self) -> str:
        """The UID of the pod."""
        return claims.uid_of(self.pod)


class SchedulingQueue:
    """Pods that wait to be scheduled."""

    def __init__(
        self, *, gate: Callable[[Object], bool], backoff_initial_s: float, backoff_max_s: float
    ) -> None:
        """`gate(pod)` is PreEnqueue: it returns whether the pod may be scheduled at all."""
        self._changed = concurrency.condition("scheduling-queue")
        self._gate = gate
        self._backoff_initial_s, self._backoff_max_s = backoff_initial_s, backoff_max_s
        self._pods: dict[str, QueuedPod] = {}
        self._users: dict[str, set[str]] = collections.defaultdict(set)
        self._unschedulable: dict[str, QueuedPod] = {}
        self._active: collections.deque[QueuedPod] = collections.deque()
        self._timers: list[tuple[float, int, QueuedPod]] = []
        self._order = itertools.count()
        self._moves = 0
        self._closed = False

    def put(self, pod: Object) -> None:
        """Add a new pod, or update a queued one.

        A pod whose status names other claims than before is retried once they can be used, as by
        isSchedulableAfterPodChange.
        """
        with self._changed:
            queued = self._pods.setdefault(claims.uid_of(pod), QueuedPod(pod))
            has_new_claims = claims.recorded_names(queued.pod) != claims.recorded_names(pod)
            if has_new_claims:
                self._remove_user(queued.pod)
            queued.pod = pod
            for key in claims.known_claim_keys(pod):
                self._users[key].add(queued.uid)
        self._open_gate(queued)
        if has_new_claims and self._gate(pod):
            self._retry(queued)

    def remove(self, pod: Object) -> None:
        """Remove a pod that was deleted or needs no more scheduling."""
        with self._changed:
            uid = claims.uid_of(pod)
            self._pods.pop(uid, None)
            self._unschedulable.pop(uid, None)
            self._remove_user(pod)

    def move_after_claim(self, key: str, *, freed: bool) -> None:
        """Retry the pods that use a changed claim; `freed`: all pods, as devices became free."""
        if freed:
            self.move_all()
        self.move_users(key)

    def move_users(self, claim_key: str) -> None:
        """Retry the pods that use a claim, after an event of that claim."""
        with self._changed:
            users = [
                self._pods[uid]
                for uid in sorted(self._users.get(claim_key, ()))
                if uid in self._pods
            ]
        for queued in users:
            self._open_gate(queued)
            self._retry(queued)

    def move_all(self) -> None:
        """Retry every unschedulable pod, after something was freed or added."""
        with self._changed:
            self._move_all()

    def pop(self) -> QueuedPod:
        """Take the next pod into flight; wait until there is one.

        Raises concurrency.Closed when the queue is closed.
        """
        with self._changed:
            while not self._closed:
                wait_s = self._flush()
                while self._active:
                    queued = self._active.popleft()
                    if self._is_known(queued) and queued.place is Place.ACTIVE:
                        return self._take(queued)
                self._changed.wait(wait_s)
        raise concurrency.Closed

    def failed(self, queued: QueuedPod, *, unschedulable: bool, freed: bool = False) -> None:
        """Return a pod after a failed attempt.

        It waits for an event if it is unschedulable; after an error it only backs off. `freed`: the
        attempt gave back what it had reserved, which no event tells: all other pods are retried.
        """
        with self._changed:
            has_missed_event = queued.was_moved or queued.seen_moves != self._moves
            if freed:
                self._move_all()
            queued.failed_s = concurrency.monotonic_s()
            if not self._is_known(queued):
                return
            if unschedulable and not has_missed_event:
                queued.place = Place.UNSCHEDULABLE
                self._unschedulable[queued.uid] = queued
                self._set_timer(queued, FLUSH_S)
            else:
                self._back_off(queued)

    def close(self) -> None:
        """Wake and end every `pop`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def pending(self) -> dict[str, int]:
        """Return the number of waiting pods by place, apart from those in flight."""
        with self._changed:
            counts = collections.Counter(queued.place for queued in self._pods.values())
        return {place.value: counts[place] for place in Place if place is not Place.IN_FLIGHT}

    def __len__(self) -> int:
        return len(self._pods)

    def _open_gate(self, queued: QueuedPod) -> None:
        """Admit a gated pod; the gate reads the assume cache and is called without the lock."""
        if queued.place is Place.GATED and self._gate(queued.pod):
            with self._changed:
                if queued.place is Place.GATED and self._is_known(queued):
                    self._activate(queued)

    def _retry(self, queued: QueuedPod) -> None:
        """Retry a pod after an event that concerns its claims."""
        with self._changed:
            queued.was_moved = True
            self._move(queued)

    # ------------------------------------------------------------------ under the lock

    def _remove_user(self, pod: Object) -> None:
        """Remove the pod from the index of its claims."""
        for key in claims.known_claim_keys(pod):
            self._users[key].discard(claims.uid_of(pod))
            if not self._users[key]:
                del self._users[key]

    def _move_all(self) -> None:
        self._moves += 1
        for queued in list(self._unschedulable.values()):
            self._move(queued)

    def _is_known(self, queued: QueuedPod) -> bool:
        return self._pods.get(queued.uid) is queued

    def _move(self, queued: QueuedPod) -> None:
        if queued.place is Place.UNSCHEDULABLE:
            del self._unschedulable[queued.uid]
            self._back_off(queued)

    def _take(self, queued: QueuedPod) -> QueuedPod:
        queued.place, queued.was_moved = Place.IN_FLIGHT, False
        queued.seen_moves = self._moves
        queued.attempts += 1
        return queued

    def _activate(self, queued: QueuedPod) -> None:
        queued.place = Place.ACTIVE
        self._active.append(queued)
        self._changed.notify()

    def _back_off(self, queued: QueuedPod) -> None:
        """Activate the pod once its backoff, which began when the attempt failed, has elapsed."""
        length_s = min(self._backoff_initial_s * 2 ** (queued.attempts - 1), self._backoff_max_s)
        left_s = queued.failed_s + length_s - concurrency.monotonic_s()
        if left_s <= 0:
            self._activate(queued)
        else:
            queued.place = Place.BACKOFF
            self._set_timer(queued, left_s)

    def _set_timer(self, queued: QueuedPod, wait_s: float) -> None:
        at_s = concurrency.monotonic_s() + wait_s
        heapq.heappush(self._timers, (at_s, next(self._order), queued))
        self._changed.notify()

    def _flush(self) -> float | None:
        """Activate pods with an expired timer; return the seconds until the next timer, or None."""
        now_s = concurrency.monotonic_s()
        while self._timers and self._timers[0][0] <= now_s:
            self._expire(heapq.heappop(self._timers)[2], now_s)
        return self._timers[0][0] - now_s if self._timers else None

    def _expire(self, queued: QueuedPod, now_s: float) -> None:
        if not self._is_known(queued):
            return
        if queued.place is Place.BACKOFF:
            self._activate(queued)
        elif queued.place is Place.UNSCHEDULABLE and now_s >= queued.failed_s + FLUSH_S:
            del self._unschedulable[queued.uid]
            self._activate(queued)
