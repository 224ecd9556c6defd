"""Posts Events and pod conditions from a background thread, at its own pace.

Reports are best effort. A failure is held back for a moment, because many are settled by then. Of
several about one pod only the newest is written; the same words again only raise the count of the
Event. When there are too many to write, the oldest are dropped, as by client-go's broadcaster.
"""

import collections
import dataclasses
import datetime
import heapq
import itertools
from typing import Protocol

from harness import concurrency
from harness.client import apis, informers, transports
from harness.model.objects import Object
from harness.subject.objects import claims

EVENTS = apis.Resource("events.k8s.io", "v1", "events", "Event", namespaced=True)
UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
"""Reasons of the condition: an event may help; an error, retried after a backoff."""
NOTE_CHARACTERS_MAX = 1024
"""The API's limit of an event's note."""


def failed(pod: Object, message: str, *, scheduler: str, number: int) -> Object:
    """Return the Event that says why an attempt to schedule the pod has failed."""
    return _event(pod, "Warning", "FailedScheduling", "Scheduling", message, scheduler, number)


def scheduled(pod: Object, node: str, *, scheduler: str, number: int) -> Object:
    """Return the Event that says on which node the pod will run."""
    note = f"Successfully assigned {informers.key_of(pod)} to {node}"
    return _event(pod, "Normal", "Scheduled", "Binding", note, scheduler, number)


def binding_conditions_pending(pod: Object, node: str, *, scheduler: str, number: int) -> Object:
    """Return the Event that says that the pod waits until its devices are ready."""
    note = f"waiting for binding conditions for device on node {node}"
    return _event(pod, "Normal", "BindingConditionsPending", "Scheduling", note, scheduler, number)


def repeated(count: int) -> Object:
    """Return the patch of an Event that has occurred `count` times."""
    return {"series": {"count": count, "lastObservedTime": _now()}}


def condition(pod: Object, reason: str, message: str) -> Object | None:
    """Return the patch of the status with PodScheduled=False; None if the pod has it already.

    It fails with a conflict for another pod of the same name.
    """
    known = _scheduled_condition(pod)
    if (known.get("status"), known.get("reason"), known.get("message")) == (
        "False",
        reason,
        message,
    ):
        return None
    since = known.get("lastTransitionTime") if known.get("status") == "False" else None
    entry = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or f"{_now()[:19]}Z",
    }
    return {"metadata": {"uid": claims.uid_of(pod)}, "status": {"conditions": [entry]}}


def _scheduled_condition(pod: Object) -> Object:
    for item in pod.get("status", {}).get("conditions") or ():
        if item["type"] == "PodScheduled":
            found: Object = item
            return found
    return {}


def _event(
    pod: Object, kind: str, reason: str, action: str, note: str, scheduler: str, number: int
) -> Object:
    meta = pod["metadata"]
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        # The name tells the pod's incarnation, so that no earlier event has it.
        "metadata": {
            "name": f"{meta['name'][:200]}.{meta['uid'][-12:]}.{reason.lower()}-{number}",
            "namespace": meta["namespace"],
        },
        "eventTime": _now(),
        "type": kind,
        "reason": reason,
        "action": action,
        "note": note[:NOTE_CHARACTERS_MAX],
        "reportingController": scheduler,
        "reportingInstance": f"{scheduler}-{number}"[:128],
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
        },
    }


def _now() -> str:
    now = datetime.datetime.now(datetime.UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


HOLD_S = 3.0
"""Seconds for which a failure is held back."""
REPEAT_S = 30.0
"""Least seconds between two writes that raise the count of an Event."""
WRITES_PER_S = 20.0
"""Upper limit of the rate of reports; below that of kube-scheduler's client (50), because in a run
the API server shares the cores with the scheduler."""
WAITING_MAX = 1000
"""Reports that may wait, as in client-go's broadcaster."""


class PodReports(Protocol):
    """The reports about pods that the scheduler makes."""

    def start(self) -> None:
        """Begin to write."""

    def stop(self) -> None:
        """Write nothing more."""

    def failed(self, pod: Object, reason: str, message: str) -> None:
        """Report why the pod was not scheduled; `reason` is that of the condition."""

    def binding_conditions_pending(self, pod: Object, node: str) -> None:
        """Report that the pod waits until its devices are ready."""

    def scheduled(self, pod: Object, node: str) -> None:
        """Report that the pod is bound."""

    def forget(self, pod: Object) -> None:
        """Report nothing more about a pod that is gone or bound."""


class NoReports:
    """Reports nothing."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def failed(self, pod: Object, reason: str, message: str) -> None:
        """Do nothing."""

    def binding_conditions_pending(self, pod: Object, node: str) -> None:
        """Do nothing."""

    def scheduled(self, pod: Object, node: str) -> None:
        """Do nothing."""

    def forget(self, pod: Object) -> None:
        """Do nothing."""


class _Message(Protocol):
    """Makes the Event about a pod and its node."""

    def __call__(self, pod: Object, node: str, *, scheduler: str, number: int) -> Object: ...


@dataclasses.dataclass(slots=True)
class _Failure:
    """The newest failure of one pod."""

    pod: Object
    reason: str
    message: str
    due_s: float | None
    """When to write it, in monotonic seconds; None: it is written."""
    count: int = 1
    """Number of failures with these words."""
    event: str = ""
    """Name of the Event; empty until it is written."""

    def says(self, reason: str, message: str) -> bool:
        return (self.reason, self.message) == (reason, message)


class ApiReports(concurrency.WorkerThread):
    """Writes Events and conditions to the API server."""

    def __init__(self, api: apis.Api, *, scheduler_name: str) -> None:
        super().__init__("pod-reports")
        self._api, self._scheduler_name = api, scheduler_name
        self._failures: dict[str, _Failure] = {}
        """Keyed by UID of the pod."""
        self._timers: list[tuple[float, str]] = []
        """A heap of due times and UIDs; one whose failure has another due time is void."""
        self._steps: collections.deque[tuple[_Message, Object, str]] = collections.deque(
            maxlen=WAITING_MAX
        )
        """Messages to write, each with its pod and the node."""
        self._numbers = itertools.count(1)

    def failed(self, pod: Object, reason: str, message: str) -> None:
        """Have a failure written, unless the pod is bound soon."""
        uid, now_s = claims.uid_of(pod), concurrency.monotonic_s()
        with self._changed:
            known = self._failures.get(uid)
            if known is None or not known.says(reason, message):
                due_s = now_s + HOLD_S if known is None or known.due_s is None else known.due_s
                self._failures[uid] = _Failure(pod, reason, message, due_s)
                self._set_timer(due_s, uid)
            else:
                known.pod, known.count = pod, known.count + 1
                if known.due_s is None:
                    known.due_s = now_s + REPEAT_S
                    self._set_timer(known.due_s, uid)

    def binding_conditions_pending(self, pod: Object, node: str) -> None:
        """Have it written that the pod waits until its devices are ready."""
        with self._changed:
            self._steps.append((binding_conditions_pending, pod, node))
            self._changed.notify()

    def scheduled(self, pod: Object, node: str) -> None:
        """Have the binding written, and drop what was to be said about failures."""
        with self._changed:
            self._failures.pop(claims.uid_of(pod), None)
            self._steps.append((scheduled, pod, node))
            self._changed.notify()

    def forget(self, pod: Object) -> None:
        """Drop what was to be said about failures."""
        with self._changed:
            self._failures.pop(claims.uid_of(pod), None)

    def _set_timer(self, due_s: float, uid: str) -> None:
        if len(self._timers) < WAITING_MAX:
            heapq.heappush(self._timers, (due_s, uid))
            self._changed.notify()
        else:
            self._failures.pop(uid, None)

    # ------------------------------------------------------------------- its thread

    def _take(self) -> concurrency.Task | None:
        if (failure := self._due()) is not None:
            failure.due_s = None
            return lambda: self._write(lambda: self._write_failure(failure))
        if self._steps:
            step = self._steps.popleft()
            return lambda: self._write(lambda: self._write_step(*step))
        return None

    def _left_s(self) -> float | None:
        return self._timers[0][0] - concurrency.monotonic_s() if self._timers else None

    def _write(self, write: concurrency.Task) -> None:
        try:
            write()
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("report.failed", reason=str(error))
        concurrency.sleep(1 / WRITES_PER_S)

    def _due(self) -> _Failure | None:
        """Return the next failure that is due, if there is one."""
        now_s = concurrency.monotonic_s()
        while self._timers and self._timers[0][0] <= now_s:
            due_s, uid = heapq.heappop(self._timers)
            failure = self._failures.get(uid)
            if failure is not None and failure.due_s == due_s:
                return failure
        return None

    def _write_failure(self, failure: _Failure) -> None:
        meta = failure.pod["metadata"]
        if failure.event:
            self._api.patch(
                EVENTS,
                failure.event,
                repeated(max(failure.count, 2)),
                namespace=meta["namespace"],
            )
            return
        event = failed(
            failure.pod, failure.message, scheduler=self._scheduler_name, number=next(self._numbers)
        )
        failure.event = event["metadata"]["name"]
        self._api.create(EVENTS, event, namespace=meta["namespace"])
        patch = condition(failure.pod, failure.reason, failure.message)
        if patch is not None:
            self._api.patch(
                apis.PODS,
                meta["name"],
                patch,
                namespace=meta["namespace"],
                kind=apis.PatchKind.STRATEGIC,
                subresource="status",
            )

    def _write_step(self, message: _Message, pod: Object, node: str) -> None:
        event = message(pod, node, scheduler=self._scheduler_name, number=next(self._numbers))
        self._api.create(EVENTS, event, namespace=pod["metadata"]["namespace"])
