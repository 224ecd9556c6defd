"""The texts about pods: Events of the group events.k8s.io, and the condition PodScheduled.

After pkg/scheduler/schedule_one.go (handleSchedulingFailure, bind), with its words.
"""

import datetime

from harness.client import apis, informers
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
