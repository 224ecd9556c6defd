"""The scheduler's log lines in klog's text form and in JSON, made from the named steps.

Messages, keys and verbosity are those of kube-scheduler 1.36; a key that no step knows is left out.
"""

import dataclasses
import datetime
import inspect
import json
import os
import threading
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from harness import concurrency

Object = dict[str, Any]
Form = Literal["text", "json"]
_OWN_FILES = frozenset(("concurrency.py", "klog_lines.py"))


@dataclasses.dataclass(frozen=True, slots=True)
class _Line:
    verbosity: int
    message: str
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Key of the line: field of the step; `name(field)` is the name of the object with this UID."""


_POD, _CLAIM = {"pod": "name(pod)"}, {"claim": "name(claim)"}
_RESOURCE_CLAIM = {"resourceclaim": "name(claim)"}
_LINES = {
    "scheduling.started": _Line(3, "Attempting to schedule pod", _POD),
    "scheduling.unschedulable": _Line(5, "pod unschedulable", {**_POD, "reason": "reason"}),
    "scheduling.failed": _Line(5, "dynamic resource plugin failed", {"err": "reason"}),
    "gather.started": _Line(6, "Starting GatherAllocatedState"),
    "gather.conflict": _Line(
        6, "Conflicting modification during GatherAllocatedState, trying again"
    ),
    "gather.finished": _Line(6, "Finished GatherAllocatedState", {"count": "count"}),
    "in-flight.added": _Line(5, "Added in-flight claim", {**_CLAIM, "uid": "claim"}),
    "in-flight.removed": _Line(5, "Removed in-flight claim", {**_CLAIM, "uid": "claim"}),
    "pre-bind.conflict": _Line(5, "retrying update after conflict", _CLAIM),
    "pre-bind.assumed": _Line(5, "Claim stored in assume cache", {**_CLAIM, "uid": "claim"}),
    "pre-bind.not-assumed": _Line(5, "Claim not stored in assume cache", {"err": "reason"}),
    "allocated-devices.inserted": _Line(
        6, "Observed device allocation", {"device": "device", **_CLAIM}
    ),
    "allocated-devices.removed": _Line(
        6, "Observed device deallocation", {"device": "device", **_CLAIM}
    ),
    "unreserve.started": _Line(5, "unreserve", _RESOURCE_CLAIM),
    "post-filter.deallocating": _Line(5, "Deallocation of ResourceClaim", _RESOURCE_CLAIM),
    "bind.started": _Line(3, "Attempting to bind pod to node", _POD),
    "bind.done": _Line(2, "Successfully bound pod to node", {**_POD, "node": "node"}),
}
_REDUNDANT = _Line(5, "Redundant remove of in-flight claim, not found", {"uid": "claim"})


class KlogLines:
    """A step listener that writes a line for each step that kube-scheduler would log."""

    def __init__(
        self,
        verbosity: int,
        form: Form,
        *,
        objects: Callable[[], Iterable[Object]],
        write: Callable[[str], object],
    ) -> None:
        """`objects()` returns the known pods and claims; `write(line)` gets each whole line."""
        self._verbosity, self._form = verbosity, form
        self._objects, self._write = objects, write
        self._names: dict[str, str] = {}
        """`namespace/name` by UID."""

    def __call__(self, name: str, fields: concurrency.StepFields) -> None:
        """Write the line of a step, if it has one at this verbosity."""
        line = _LINES.get(name)
        if name == "in-flight.removed" and not fields["found"]:
            line = _REDUNDANT
        if line is None or line.verbosity > self._verbosity:
            return
        pairs = {key: self._value(field, fields) for key, field in line.keys.items()}
        text = _in_json(line, pairs) if self._form == "json" else _in_text(line, pairs)
        self._write(f"{text}\n")

    def _value(self, field: str, fields: concurrency.StepFields) -> Any:
        if not field.startswith("name("):
            return fields[field]
        uid = str(fields[field[5:-1]])
        if uid not in self._names:
            self._names = {item["metadata"]["uid"]: _key(item) for item in self._objects()}
        return self._names.get(uid, uid)


def _key(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def _in_text(line: _Line, pairs: Mapping[str, Any]) -> str:
    now = datetime.datetime.now(datetime.UTC).strftime("%m%d %H:%M:%S.%f")
    head = f"I{now} {threading.get_native_id():7d} {_caller()}] {_quoted(line.message)}"
    return " ".join([head, *(f"{key}={_quoted(value)}" for key, value in pairs.items())])


def _in_json(line: _Line, pairs: Mapping[str, Any]) -> str:
    fixed = {
        "ts": datetime.datetime.now(datetime.UTC).timestamp() * 1000,
        "caller": _caller(),
        "msg": line.message,
    }
    return json.dumps({**fixed, "v": line.verbosity, **pairs})


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def _caller() -> str:
    """Return file and line of the code that took the step."""
    frame = inspect.currentframe()
    while frame and _file(frame) in _OWN_FILES:
        frame = frame.f_back
    return f"{_file(frame)}:{frame.f_lineno}" if frame else "unknown:0"


def _file(frame: types.FrameType) -> str:
    return os.path.basename(frame.f_code.co_filename)  # noqa: PTH119 - cheaper than a Path
