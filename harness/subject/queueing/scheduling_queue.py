"""The scheduling queue: gated, active, backing-off and unschedulable pods.

After PriorityQueue in pkg/scheduler/backend/queue/scheduling_queue.go. A pod is in one of these
four places, or in flight: taken by the scheduling thread and neither bound nor returned. An event
moves the unschedulable pods on that it may help, as their queueing hints say. For a pod in flight
it is remembered, so that an event during an attempt is not lost. As upstream since 1.37, pods are
indexed by their claims, so that the cost of an event depends on the pods it concerns, not on the
queue's length.
"""

import collections
import contextlib
import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.queueing import cluster_events, queue_parts, queueing_hints

_DOUBLINGS_MAX = 64
"""Doublings of the first backoff; far more than any maximum needs, and no overflow."""
FLUSH_S = 300.0
"""Seconds after which an unschedulable pod is retried without an event, as upstream.

Without it a lost event could leave a pod unscheduled forever.
"""

_POD, _USERS = "pod", "users"
"""The parts of the queue, for an explorer (see `concurrency.in_parts`): each pod by UID, with its
place; the users of each claim. Counters are no part: those who read them take the lock as a whole.
"""
_ACTIVE, _UNSCHEDULABLE, _TIMERS = "active", "unschedulable", "timers"
"""The order of active and of unschedulable pods; the timers."""
_MISSED = "missed"
"""The events that pods in flight miss, by claim; those that may help any pod have an empty key."""


class SchedulingQueue:
    """Pods that wait to be scheduled."""

    def __init__(
        self,
        *,
        gate: Callable[[Object], bool],
        hints: queueing_hints.QueueingHints,
        backoff_initial_s: float,
        backoff_max_s: float,
    ) -> None:
        """`gate(pod)` is PreEnqueue: it returns whether the pod may be scheduled at all."""
        self._changed = concurrency.condition("scheduling-queue")
        self._gate, self._hints = gate, hints
        self._backoff_initial_s, self._backoff_max_s = backoff_initial_s, backoff_max_s
        self._pods: dict[str, queue_parts.QueuedPod] = {}
        self._users: dict[str, set[str]] = collections.defaultdict(set)
        self._unschedulable: dict[str, queue_parts.QueuedPod] = {}
        self._active: collections.deque[queue_parts.QueuedPod] = collections.deque()
        self._timers: list[tuple[float, int, queue_parts.QueuedPod]] = []
        self._order = itertools.count()
        self._missed = queue_parts.InFlightEvents()
        self._closed = False

    def put(self, pod: Object) -> None:
        """Add a new pod, or update a queued one, which may help it."""
        with self._with_pod(claims.uid_of(pod)):
            queued = self._pods.get(claims.uid_of(pod)) or self._add(pod)
            changes = list(cluster_events.of_pod(queued.pod, pod))
            self._index(queued, pod)
            queued.pod = pod
        self._open_gate(queued)
        for event in changes:
            self._move(event, [queued])

    def remove(self, pod: Object) -> None:
        uid = claims.uid_of(pod)
        with self._with_pod(uid):
            known = self._pods.pop(uid, None)
            self._leave_unschedulable(uid)
            self._missed.end(uid)
            self._remove_user(known.pod if known else pod)

    def move(self, event: cluster_events.ClusterEvent) -> None:
        """Retry the pods that an event may help."""
        users = self._users_of(event)
        for queued in users or ():
            self._open_gate(queued)
        self._move(event, users if event.is_for_users else None)

    def activate(self, claim_key: str) -> None:
        """Retry every pod, because a claim or device can be used for which there is no event."""
        for queued in self._known_users(claim_key):
            self._open_gate(queued)
        self._move(cluster_events.FORCE_ACTIVATE)

    def pop(self) -> queue_parts.QueuedPod:
        """Take the next pod into flight, waiting for one. Raises concurrency.Closed."""
        with concurrency.in_parts(self._changed):
            while not self._closed:
                concurrency.writes(self._changed, _ACTIVE)
                wait_s = self._flush()
                while self._active:
                    queued = self._active.popleft()
                    concurrency.writes(self._changed, _POD, queued.uid)
                    if self._is_known(queued) and queued.place is queue_parts.Place.ACTIVE:
                        return self._take(queued)
                self._changed.wait(wait_s)
        raise concurrency.Closed

    def failed(
        self,
        queued: queue_parts.QueuedPod,
        *,
        unschedulable: bool,
        rejectors: Iterable[str] = (),
        freed: bool = False,
    ) -> None:
        """Return a pod after a failed attempt.

        It waits for an event if it is unschedulable, unless one that it has missed helps; after an
        error it only backs off. `rejectors`: the plugins that rejected it. `freed`: the attempt
        gave back what it had reserved, for which there is no event: all other pods are retried.
        """
        answers: list[queue_parts.Answer] = []
        with self._with_pod(queued.uid):
            self._misses(queued.pod)
            missed = self._missed.missed(queued.uid)
            self._missed.end(queued.uid)
            if freed:
                answers += self._retry(cluster_events.ASSIGNED_POD_DELETED)
            if self._is_known(queued):
                queued.failed_s = concurrency.monotonic_s()
                queued.rejectors = frozenset(rejectors)
                if unschedulable:
                    helps = [self._ask(queued, it) for it in missed if it.concerns(queued.pod)]
                    answers += helps
                    unschedulable = not any(item.hint.is_worth_trying for item in helps)
                self._wait(queued, unschedulable=unschedulable)
        _tell(answers)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._pods)

    def _users_of(self, event: cluster_events.ClusterEvent) -> list[queue_parts.QueuedPod] | None:
        if event.resource != cluster_events.CLAIM:
            return None
        return self._known_users(informers.key_of(event.subject))

    def _known_users(self, claim_key: str) -> list[queue_parts.QueuedPod]:
        with concurrency.in_parts(self._changed):
            concurrency.reads(self._changed, _USERS, claim_key)
            uids = sorted(self._users.get(claim_key, ()))
            for uid in uids:
                concurrency.reads(self._changed, _POD, uid)
            return [self._pods[uid] for uid in uids if uid in self._pods]

    def _open_gate(self, queued: queue_parts.QueuedPod) -> None:
        """Admit a gated pod; the gate reads the assume cache and is called without the lock."""
        concurrency.reads(self._changed, _POD, queued.uid)
        if queued.place is queue_parts.Place.GATED and self._gate(queued.pod):
            with self._with_pod(queued.uid):
                if queued.place is queue_parts.Place.GATED and self._is_known(queued):
                    self._activate(queued)

    def _move(
        self,
        event: cluster_events.ClusterEvent,
        candidates: Iterable[queue_parts.QueuedPod] | None = None,
    ) -> None:
        with concurrency.in_parts(self._changed):
            answers = self._retry(event, candidates)
        _tell(answers)

    # ------------------------------------------------------------------ under the lock

    @contextlib.contextmanager
    def _with_pod(self, uid: str) -> Iterator[None]:
        """Hold the lock for what changes a pod."""
        with concurrency.in_parts(self._changed):
            concurrency.writes(self._changed, _POD, uid)
            yield

    def _happens(self, event: cluster_events.ClusterEvent) -> None:
        """Declare that the pods in flight miss an event; in which order matters to none of them."""
        key = informers.key_of(event.subject) if event.is_for_users else ""
        concurrency.writes(self._changed, _MISSED, key)
        concurrency.adds(self._changed, _MISSED)

    def _misses(self, pod: Object) -> None:
        """Declare that the pod's flight begins or ends: it depends on the events that concern it.

        The end of one pod's flight changes nothing for another. The names of generated claims may
        change meanwhile.
        """
        names = [it.get("resourceClaimName") for it in pod["spec"].get("resourceClaims") or ()]
        if not all(names):
            concurrency.reads(self._changed, _MISSED)
            return
        for key in ("", *(f"{pod['metadata']['namespace']}/{name}" for name in names)):
            concurrency.reads(self._changed, _MISSED, key)

    def _add(self, pod: Object) -> queue_parts.QueuedPod:
        queued = self._pods[claims.uid_of(pod)] = queue_parts.QueuedPod(pod)
        queued.place = queue_parts.Place.GATED
        return queued

    def _index(self, queued: queue_parts.QueuedPod, pod: Object) -> None:
        self._remove_user(queued.pod)
        for key in claims.known_claim_keys(pod):
            concurrency.adds(self._changed, _USERS, key)
            self._users[key].add(queued.uid)

    def _remove_user(self, pod: Object) -> None:
        for key in claims.known_claim_keys(pod):
            concurrency.adds(self._changed, _USERS, key)
            self._users[key].discard(claims.uid_of(pod))
            if not self._users[key]:
                del self._users[key]

    def _retry(
        self,
        event: cluster_events.ClusterEvent,
        candidates: Iterable[queue_parts.QueuedPod] | None = None,
    ) -> list[queue_parts.Answer]:
        self._happens(event)
        self._missed.add(event)
        answers = []
        if candidates is None:
            concurrency.reads(self._changed, _UNSCHEDULABLE)
            candidates = list(self._unschedulable.values())
        for queued in candidates:
            concurrency.reads(self._changed, _POD, queued.uid)
            if queued.place is queue_parts.Place.UNSCHEDULABLE:
                answer = self._ask(queued, event)
                answers.append(answer)
                if answer.hint.is_worth_trying:
                    concurrency.writes(self._changed, _POD, queued.uid)
                    self._leave_unschedulable(queued.uid)
                    self._back_off(queued)
        return answers

    def _ask(
        self, queued: queue_parts.QueuedPod, event: cluster_events.ClusterEvent
    ) -> queue_parts.Answer:
        return queue_parts.Answer(
            self._hints.of(queued.pod, queued.rejectors, event), queued.uid, event
        )

    def _wait(self, queued: queue_parts.QueuedPod, *, unschedulable: bool) -> None:
        if unschedulable:
            queued.place = queue_parts.Place.UNSCHEDULABLE
            concurrency.writes(self._changed, _UNSCHEDULABLE)
            self._unschedulable[queued.uid] = queued
            self._set_timer(queued, FLUSH_S)
        else:
            self._back_off(queued)

    def _leave_unschedulable(self, uid: str) -> None:
        if self._unschedulable.pop(uid, None) is not None:
            concurrency.writes(self._changed, _UNSCHEDULABLE)

    def _is_known(self, queued: queue_parts.QueuedPod) -> bool:
        return self._pods.get(queued.uid) is queued

    def _take(self, queued: queue_parts.QueuedPod) -> queue_parts.QueuedPod:
        queued.place = queue_parts.Place.IN_FLIGHT
        self._misses(queued.pod)
        self._missed.begin(queued.uid)
        queued.attempts += 1
        return queued

    def _activate(self, queued: queue_parts.QueuedPod) -> None:
        queued.place = queue_parts.Place.ACTIVE
        concurrency.writes(self._changed, _ACTIVE)
        self._active.append(queued)
        self._changed.notify()

    def _back_off(self, queued: queue_parts.QueuedPod) -> None:
        """Activate the pod once its backoff, which began when the attempt failed, has elapsed."""
        doublings = min(queued.attempts - 1, _DOUBLINGS_MAX)
        length_s = min(self._backoff_initial_s * 2.0**doublings, self._backoff_max_s)
        left_s = queued.failed_s + length_s - concurrency.monotonic_s()
        if left_s <= 0:
            self._activate(queued)
        else:
            queued.place = queue_parts.Place.BACKOFF
            self._set_timer(queued, left_s)

    def _set_timer(self, queued: queue_parts.QueuedPod, wait_s: float) -> None:
        at_s = concurrency.monotonic_s() + wait_s
        concurrency.writes(self._changed, _TIMERS)
        heapq.heappush(self._timers, (at_s, next(self._order), queued))
        self._changed.notify()

    def _flush(self) -> float | None:
        now_s = concurrency.monotonic_s()
        concurrency.reads(self._changed, _TIMERS)
        while self._timers and self._timers[0][0] <= now_s:
            self._expire(heapq.heappop(self._timers)[2], now_s)
        return self._timers[0][0] - now_s if self._timers else None

    def _expire(self, queued: queue_parts.QueuedPod, now_s: float) -> None:
        concurrency.writes(self._changed, _TIMERS)
        concurrency.writes(self._changed, _POD, queued.uid)
        if not self._is_known(queued):
            return
        if queued.place is queue_parts.Place.BACKOFF:
            self._activate(queued)
        elif queued.place is queue_parts.Place.UNSCHEDULABLE and now_s >= queued.failed_s + FLUSH_S:
            self._leave_unschedulable(queued.uid)
            self._activate(queued)


def _tell(answers: Iterable[queue_parts.Answer]) -> None:
    """Take the steps of hints; the queue's lock must not be held."""
    for answer in answers:
        if answer.hint.step:
            is_claim = answer.event.resource == cluster_events.CLAIM
            claim = {"claim": claims.uid_of(answer.event.subject)} if is_claim else {}
            concurrency.step(answer.hint.step, pod=answer.pod_uid, **claim)
