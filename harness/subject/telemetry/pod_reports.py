"""Writes the condition PodScheduled=False of pods from a background thread, at its own pace.

Reports are best effort. A failure is held back for a moment, because many are settled by then; of
several about one pod only the newest is written. When there are too many to write, the newest are
dropped.
"""

import dataclasses
import datetime

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
    """Return the patch of the status with PodScheduled=False; None if the pod has it already."""
    conditions = pod.get("status", {}).get("conditions") or ()
    known: Object = next((item for item in conditions if item["type"] == "PodScheduled"), {})
    if [known.get(key) for key in ("status", "reason", "message")] == ["False", reason, message]:
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


@dataclasses.dataclass(slots=True)
class _Failure:
    """The newest failure of one pod."""

    pod: Object
    reason: str
    message: str
    due_s: float
    """When to write it, in monotonic seconds."""


class PodReports(concurrency.WorkerThread):
    """Writes conditions to the API server."""

    def __init__(self, api: apis.Api | None) -> None:
        """`api` None: nothing is reported."""
        super().__init__("pod-reports")
        self._api = api
        self._waiting: dict[str, _Failure] = {}
        """By UID of the pod, those that are due first come first."""

    def start(self) -> None:
        if self._api is not None:
            super().start()

    def failed(self, pod: Object, reason: str, message: str) -> None:
        """Have a failure written, unless the pod is bound soon; `reason` is the condition's."""
        if self._api is None:
            return
        uid = claims.uid_of(pod)
        with self._changed:
            known = self._waiting.get(uid)
            if known or len(self._waiting) < WAITING_MAX:
                due_s = known.due_s if known else concurrency.monotonic_s() + HOLD_S
                self._waiting[uid] = _Failure(pod, reason, message, due_s)
                self._changed.notify()

    def forget(self, pod: Object) -> None:
        """Write nothing more about a pod that is gone or bound."""
        if self._api is not None:
            with self._changed:
                self._waiting.pop(claims.uid_of(pod), None)

    # ------------------------------------------------------------------- its thread

    def _take(self) -> concurrency.Task | None:
        first = next(iter(self._waiting), None)
        if first is None or (self._left_s() or 0) > 0:
            return None
        failure = self._waiting.pop(first)
        return lambda: self._write(failure)

    def _left_s(self) -> float | None:
        first = next(iter(self._waiting.values()), None)
        return first.due_s - concurrency.monotonic_s() if first else None

    def _write(self, failure: _Failure) -> None:
        patch = condition(failure.pod, failure.reason, failure.message)
        if patch is None or self._api is None:
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
