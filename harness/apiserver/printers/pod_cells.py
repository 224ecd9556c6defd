"""The cells of pods: ready containers, status, restarts, readiness gates.

The status of a pod that is being initialized comes from the first init container that is not done,
afterwards from the first container that is waiting or terminated. Sidecars (init containers with
`restartPolicy: Always`) count as containers once they have started.

After `printPod` in k8s.io/kubernetes/pkg/printers/internalversion/printers.go.
"""

from collections.abc import Iterator

from harness.apiserver.printers import cells
from harness.apiserver.scheme.json_document import Document

_ENDED = ("Succeeded", "Failed")


def ready(pod: Document) -> str:
    """Return the number of ready containers and of all containers: `1/2`."""
    sidecars = _sidecars(pod)
    started = [
        item for item in _reached(pod) if item.get("name") in sidecars and _is_done(pod, item)
    ]
    count = sum(bool(item.get("ready")) for item in started)
    if not _is_initializing(pod):
        count += sum(_is_running(item) for item in _statuses(pod, "containerStatuses"))
    return f"{count}/{len(cells.value(pod, 'spec.containers') or ()) + len(sidecars)}"


def status(pod: Document) -> str:
    """Return the reason why the pod waits or has ended, or else its phase."""
    known = pod.get("status") or {}
    phase = known.get("phase") or ""
    if "deletionTimestamp" in pod["metadata"]:
        if known.get("reason") == "NodeLost":
            return "Unknown"
        if phase not in _ENDED:
            return "Terminating"
    if _is_initializing(pod):
        return _init_reason(pod)
    gated = "SchedulingGated" if _is_gated(pod) else ""
    why = _container_reason(pod) or _init_reason(pod) or gated
    return why or known.get("reason") or phase or "Unknown"


def restarts(pod: Document, now: str) -> str:
    """Return the number of container restarts and the time since the last: `2 (5m ago)`."""
    statuses = list(_reached(pod))
    if not _is_initializing(pod):
        sidecars = _sidecars(pod)
        statuses = [item for item in statuses if item.get("name") in sidecars]
        statuses += _statuses(pod, "containerStatuses")
    count = sum(item.get("restartCount") or 0 for item in statuses)
    ends = [cells.value(item, "lastState.terminated.finishedAt") for item in statuses]
    last = max(filter(None, ends), default="")
    return f"{count} ({cells.between(last, now)} ago)" if count and last else str(count)


def readiness_gates(pod: Document) -> str:
    """Return the number of readiness gates that are met and of all gates: `1/2`, or `<none>`."""
    gates = {gate.get("conditionType") for gate in cells.value(pod, "spec.readinessGates") or ()}
    if not gates:
        return cells.NONE
    return f"{len(gates & cells.conditions_met(pod))}/{len(gates)}"


# ------------------------------------------------------------------ containers


def _statuses(pod: Document, key: str) -> list[Document]:
    return cells.value(pod, f"status.{key}") or []


def _is_running(item: Document) -> bool:
    return bool(item.get("ready")) and cells.value(item, "state.running") is not None


def _container_reason(pod: Document) -> str:
    """Return the reason of the first waiting or terminated container, "" if all run.

    `Completed` is replaced by `Running` or `NotReady` if another container still runs.
    """
    statuses = _statuses(pod, "containerStatuses")
    reason = next(filter(None, map(_reason, statuses)), "")
    if reason == "Completed" and any(map(_is_running, statuses)):
        return "Running" if "Ready" in cells.conditions_met(pod) else "NotReady"
    return reason


def _reason(item: Document) -> str:
    return cells.value(item, "state.waiting.reason") or _end_reason(item)


def _end_reason(item: Document) -> str:
    ended = cells.value(item, "state.terminated")
    if ended is None:
        return ""
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _is_gated(pod: Document) -> bool:
    return any(
        condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
        for condition in cells.value(pod, "status.conditions") or ()
    )


# ------------------------------------------------------------------ init containers


def _sidecars(pod: Document) -> set[str]:
    containers = cells.value(pod, "spec.initContainers") or ()
    return {item.get("name", "") for item in containers if item.get("restartPolicy") == "Always"}


def _is_done(pod: Document, item: Document) -> bool:
    """Return True if the next init container may start."""
    ended = cells.value(item, "state.terminated")
    if ended is not None and not ended.get("exitCode"):
        return True
    return bool(item.get("started")) and item.get("name") in _sidecars(pod)


def _reached(pod: Document) -> Iterator[Document]:
    """Yield the statuses of the init containers up to the first one that is not done."""
    for item in _statuses(pod, "initContainerStatuses"):
        yield item
        if not _is_done(pod, item):
            return


def _init_reason(pod: Document) -> str:
    """Return the state of the first init container that is not done, "" if all are."""
    for index, item in enumerate(_reached(pod)):
        if not _is_done(pod, item):
            waits = cells.value(item, "state.waiting.reason")
            why = _end_reason(item) or (waits if waits != "PodInitializing" else "")
            count = len(cells.value(pod, "spec.initContainers") or ())
            return f"Init:{why or f'{index}/{count}'}"
    return ""


def _is_initializing(pod: Document) -> bool:
    return bool(_init_reason(pod)) and "Initialized" not in cells.conditions_met(pod)
