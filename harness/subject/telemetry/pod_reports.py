"""Writes the condition PodScheduled=False of pods from a background thread, at its own pace.

Reports are best effort. A failure is held back for a moment, because many are settled by then; of
several about one pod only the newest is written. When there are too many to write, the newest are
dropped.
"""

import dataclasses
import datetime
import heapq

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.objects import claims

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
"""Reasons of the condition: an event may help; an error, retried after a backoff."""
HOLD_S = 3.0
"""Seconds for which a failure is held back."""
WRITES_PER_S = 20.0
"""Upper limit of the rate of reports; below that of kube-scheduler's client (50), because in a run
the API server shares the cores with the scheduler."""
WAITING_MAX = 1000
"""Reports that may wait, as in client-go's broadcaster."""


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
        "lastTransitionTime": since or f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    return {"metadata": {"uid": claims.uid_of(pod)}, "status": {"conditions": [entry]}}


def _scheduled_condition(pod: Object) -> Object:
    for item in pod.get("status", {}).get("conditions") or ():
        if item["type"] == "PodScheduled":
            found: Object = item
            return found
    return {}


class NoReports:
    """Reports nothing."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def failed(self, pod: Object, reason: str, message: str) -> None: ...
    def forget(self, pod: Object) -> None: ...


@dataclasses.dataclass(slots=True)
class _Failure:
    """The newest failure of one pod."""

    pod: Object
    reason: str
    message: str
    due_s: float
    """When to write it, in monotonic seconds."""


class ApiReports(concurrency.WorkerThread):
    """Writes conditions to the API server."""

    def __init__(self, api: apis.Api) -> None:
        super().__init__("pod-reports")
        self._api = api
        self._failures: dict[str, _Failure] = {}
        """Those that wait, keyed by UID of the pod."""
        self._timers: list[tuple[float, str]] = []
        """A heap of due times and UIDs; one whose failure has another due time is void."""

    def failed(self, pod: Object, reason: str, message: str) -> None:
        """Have a failure written, unless the pod is bound soon; `reason` is the condition's."""
        uid = claims.uid_of(pod)
        with self._changed:
            known = self._failures.get(uid)
            due_s = known.due_s if known else concurrency.monotonic_s() + HOLD_S
            if known or len(self._timers) < WAITING_MAX:
                self._failures[uid] = _Failure(pod, reason, message, due_s)
            if not known and uid in self._failures:
                heapq.heappush(self._timers, (due_s, uid))
                self._changed.notify()

    def forget(self, pod: Object) -> None:
        """Write nothing more about a pod that is gone or bound."""
        with self._changed:
            self._failures.pop(claims.uid_of(pod), None)

    # ------------------------------------------------------------------- its thread

    def _take(self) -> concurrency.Task | None:
        now_s = concurrency.monotonic_s()
        while self._timers and self._timers[0][0] <= now_s:
            due_s, uid = heapq.heappop(self._timers)
            failure = self._failures.get(uid)
            if failure is not None and failure.due_s == due_s:
                del self._failures[uid]
                return lambda: self._write(failure)
        return None

    def _left_s(self) -> float | None:
        return self._timers[0][0] - concurrency.monotonic_s() if self._timers else None

    def _write(self, failure: _Failure) -> None:
        patch = condition(failure.pod, failure.reason, failure.message)
        if patch is None:
            return
        meta = failure.pod["metadata"]
        try:
            self._api.patch(
                apis.PODS,
                meta["name"],
                patch,
                namespace=meta["namespace"],
                kind=apis.PatchKind.STRATEGIC,
                subresource="status",
            )
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("report.failed", reason=str(error))
        concurrency.sleep(1 / WRITES_PER_S)


PodReports = ApiReports | NoReports
"""The reports about pods that the scheduler makes."""
