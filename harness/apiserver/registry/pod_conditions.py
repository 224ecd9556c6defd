"""The conditions in a pod's status: one of each type, which says since when it has been so."""

from typing import Any

from harness.apiserver.scheme.json_document import Document


def update(pod: Document, condition: Document, *, now: str) -> None:
    """Have a condition hold, in place of the one of its type; it is dated anew only when its status changes."""
    conditions: list[Document] = pod.setdefault("status", {}).setdefault("conditions", [])
    for position, known in enumerate(conditions):
        if known.get("type") == condition["type"]:
            since = known.get("lastTransitionTime")
            is_as_before = known.get("status") == condition["status"]
            conditions[position] = _dated(condition, since if is_as_before else now)
            return
    conditions.append(_dated(condition, now))


def _dated(condition: Document, since: Any) -> Document:
    return {**condition, "lastProbeTime": None, "lastTransitionTime": since}
