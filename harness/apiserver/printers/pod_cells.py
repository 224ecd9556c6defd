"""What stands in the cells of pods: how many containers are ready, and what happens to the one that matters.

While a pod is initialized that is its first init container that is not done; afterwards it is its first container that waits or
has ended. Init containers that are restarted always (sidecars) count among the containers once they have started.
"""

from collections.abc import Iterator

from harness.apiserver.printers import cells, durations
from harness.apiserver.scheme.json_document import Document

_ENDED = ("Succeeded", "Failed")


def ready(pod: Document) -> str:
    """`1/2`: how many of its containers are ready."""
    sidecars = _sidecars(pod)
    started = [
        item for item in _reached(pod) if item.get("name") in sidecars and _is_done(pod, item)
    ]
    count = sum(bool(item.get("ready")) for item in started)
    if not _is_initializing(pod):
        count += sum(_is_running(item) for item in _statuses(pod, "containerStatuses"))
    return f"{count}/{len(cells.value(pod, 'spec.containers') or ()) + len(sidecars)}"


def status(pod: Document) -> str:
    """Why it waits or ended, else its phase."""
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
    """How often its containers were restarted, and when last."""
    found = list(_reached(pod))
    if not _is_initializing(pod):
        sidecars = _sidecars(pod)
        found = [item for item in found if item.get("name") in sidecars]
        found += _statuses(pod, "containerStatuses")
    count = sum(item.get("restartCount") or 0 for item in found)
    ends = [cells.value(item, "lastState.terminated.finishedAt") for item in found]
    last = max(filter(None, ends), default="")
    return f"{count} ({durations.between(last, now)} ago)" if count and last else str(count)


def readiness_gates(pod: Document) -> str:
    """`1/2`: how many of its gates are open."""
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
    """Of the first container that waits or has ended; what has completed beside one that runs does not count."""
    found = _statuses(pod, "containerStatuses")
    reason = next(filter(None, map(_reason, found)), "")
    if reason == "Completed" and any(map(_is_running, found)):
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
    found = cells.value(pod, "spec.initContainers") or ()
    return {item.get("name", "") for item in found if item.get("restartPolicy") == "Always"}


def _is_done(pod: Document, item: Document) -> bool:
    """Whether the next init container may begin."""
    ended = cells.value(item, "state.terminated")
    if ended is not None and not ended.get("exitCode"):
        return True
    return bool(item.get("started")) and item.get("name") in _sidecars(pod)


def _reached(pod: Document) -> Iterator[Document]:
    """The init containers up to the first one that is not done."""
    for item in _statuses(pod, "initContainerStatuses"):
        yield item
        if not _is_done(pod, item):
            return


def _init_reason(pod: Document) -> str:
    """What the first init container that is not done does, "" when all are."""
    for index, item in enumerate(_reached(pod)):
        if not _is_done(pod, item):
            waits = cells.value(item, "state.waiting.reason")
            why = _end_reason(item) or (waits if waits != "PodInitializing" else "")
            count = len(cells.value(pod, "spec.initContainers") or ())
            return f"Init:{why or f'{index}/{count}'}"
    return ""


def _is_initializing(pod: Document) -> bool:
    return bool(_init_reason(pod)) and "Initialized" not in cells.conditions_met(pod)
