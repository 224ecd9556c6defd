"""The scheduling queue: active, backing off, unschedulable, and gated pods (after kube-scheduler's PriorityQueue).

A pod is in one of four places, or in flight: taken by the scheduling thread and neither bound nor given back. An event that
may make pods schedulable moves the unschedulable ones on; for a pod in flight it is remembered, so that no event is lost
between an attempt's reading and its end. Pods are indexed by their claims (as upstream since 1.37), so that an event costs what it
concerns, not what waits.
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
FLUSH_S = 30.0
"""How long a pod may stay unschedulable before it is tried again unasked (upstream: 5 min): a lost event must not lose a pod."""


class Place(enum.Enum):
    """Where a pod of the queue is."""

    GATED = "gated"
    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    IN_FLIGHT = "in flight"


@dataclasses.dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod on its way through the queue."""

    pod: Object
    place: Place = Place.GATED
    attempts: int = 0
    failed_s: float = 0.0
    """When its last attempt failed."""
    seen_moves: int = 0
    """Moves of everything that its attempt has seen."""
    was_moved: bool = False
    """Whether an event concerned its claims while it was in flight."""

    @property
    def uid(self) -> str:
        """The pod's."""
        return claims.uid_of(self.pod)


class SchedulingQueue:
    """Pods that wait to be scheduled."""

    def __init__(
        self, *, gate: Callable[[Object], bool], backoff_initial_s: float, backoff_max_s: float
    ) -> None:
        """`gate(pod)`: whether the pod may be tried at all (PreEnqueue)."""
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
        """A pod is new or was changed."""
        with self._changed:
            queued = self._pods.setdefault(claims.uid_of(pod), QueuedPod(pod))
            queued.pod = pod
            for key in claims.known_claim_keys(pod):
                self._users[key].add(queued.uid)
        self._open_gate(queued)

    def remove(self, pod: Object) -> None:
        """The pod is gone, or needs no scheduling any more."""
        with self._changed:
            uid = claims.uid_of(pod)
            self._pods.pop(uid, None)
            self._unschedulable.pop(uid, None)
            for key in claims.known_claim_keys(pod):
                self._users[key].discard(uid)
                if not self._users[key]:
                    del self._users[key]

    def move_users(self, claim_key: str) -> None:
        """Something happened to a claim: the pods that use it are looked at again."""
        with self._changed:
            users = [
                self._pods[uid]
                for uid in sorted(self._users.get(claim_key, ()))
                if uid in self._pods
            ]
        for queued in users:
            self._open_gate(queued)
            with self._changed:
                queued.was_moved = True
                self._move(queued)

    def move_all(self) -> None:
        """Something was freed or added: every unschedulable pod is tried again."""
        with self._changed:
            self._moves += 1
            for queued in list(self._unschedulable.values()):
                self._move(queued)

    def pop(self) -> QueuedPod:
        """Take the next pod into flight, waiting for one; raise concurrency.Closed at the end."""
        with self._changed:
            while not self._closed:
                wait_s = self._flush()
                while self._active:
                    queued = self._active.popleft()
                    if self._is_known(queued) and queued.place is Place.ACTIVE:
                        return self._take(queued)
                self._changed.wait(wait_s)
        raise concurrency.Closed

    def failed(self, queued: QueuedPod, *, unschedulable: bool) -> None:
        """The attempt came to nothing: wait for an event, or only for the backoff after an error."""
        with self._changed:
            queued.failed_s = concurrency.monotonic_s()
            if not self._is_known(queued):
                return
            if unschedulable and not queued.was_moved and queued.seen_moves == self._moves:
                queued.place = Place.UNSCHEDULABLE
                self._unschedulable[queued.uid] = queued
                self._set_timer(queued, FLUSH_S)
            else:
                self._back_off(queued)

    def close(self) -> None:
        """End every pop."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._pods)

    def _open_gate(self, queued: QueuedPod) -> None:
        """Let a gated pod in; the gate is asked outside the lock, because it reads the assume cache."""
        if queued.place is Place.GATED and self._gate(queued.pod):
            with self._changed:
                if queued.place is Place.GATED and self._is_known(queued):
                    self._activate(queued)

    # ------------------------------------------------------------------ under the lock

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
        """Active again once its backoff is over, which began when the attempt failed."""
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
        """Activate whose time has come; seconds until the next one's."""
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
