"""The scheduler's log lines that are made from named steps; others call `klog` where they happen.

Messages, keys and verbosity are those of kube-scheduler 1.36. There is a line where `explain` reads
one; the steps tell the rest.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.telemetry import klog


@dataclasses.dataclass(frozen=True, slots=True)
class _Line:
    verbosity: int
    message: str
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Key of the line: field of the step; `name(field)` is the name of the object with this UID."""


NAMES_MAX = 100_000
"""Names of pods and claims that are remembered, also of deleted ones."""
_POD, _CLAIM = {"pod": "name(pod)"}, {"claim": "name(claim)"}
_LINES = {
    "gather.started": _Line(6, "Starting GatherAllocatedState"),
    "gather.conflict": _Line(
        6, "Conflicting modification during GatherAllocatedState, trying again"
    ),
    "pre-bind.conflict": _Line(5, "retrying update after conflict", _CLAIM),
    "allocated-devices.inserted": _Line(
        6, "Observed device allocation", {"device": "device", **_CLAIM}
    ),
    "allocated-devices.removed": _Line(
        6, "Observed device deallocation", {"device": "device", **_CLAIM}
    ),
    "bind.started": _Line(3, "Attempting to bind pod to node", {**_POD, "node": "node"}),
    "bind.done": _Line(2, "Successfully bound pod to node", {**_POD, "node": "node"}),
}


class KlogLines:
    """A step listener that writes a line for each step that kube-scheduler would log."""

    def __init__(self, *, objects: Callable[[], Iterable[Object]]) -> None:
        """`objects()` returns the known pods and claims."""
        self._objects = objects
        self._names: dict[str, str] = {}
        """`namespace/name` by UID."""

    def __call__(self, name: str, fields: concurrency.StepFields) -> None:
        line = _LINES.get(name)
        if line is None or not klog.enabled(line.verbosity):
            return
        pairs = {key: self._value(field, fields) for key, field in line.keys.items()}
        klog.info(line.verbosity, line.message, **pairs)

    def _value(self, field: str, fields: concurrency.StepFields) -> Any:
        if not field.startswith("name("):
            return fields[field]
        uid = str(fields[field[5:-1]])
        if uid not in self._names:
            known = {item["metadata"]["uid"]: informers.key_of(item) for item in self._objects()}
            # Objects may be deleted before the last line about them.
            self._names = {**self._names, **known} if len(self._names) < NAMES_MAX else known
        return self._names.get(uid, uid)
