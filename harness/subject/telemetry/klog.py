"""The scheduler's log, in klog's text form and in JSON.

Messages, keys and verbosity are those of kube-scheduler 1.36, and a line is logged at the place
where kube-scheduler logs it, or at the named step of that place: those that `explain` reads.
Nothing is logged until a process sets a `Logger`.
"""

import dataclasses
import datetime
import inspect
import json
import os
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object

Form = Literal["text", "json"]
_OWN_FILES = frozenset(("concurrency.py", "klog.py"))
_SHOWN_MAX = 10
"""Devices in the log of a gather at verbosity 6; all are shown from 7 on."""


class Document(NamedTuple):
    """A value that the text form shows as indented JSON on lines of its own."""

    content: object


class _Line(NamedTuple):
    severity: str
    verbosity: int | None
    """None for an error, whose line does not show it."""
    message: str
    pairs: Mapping[str, object]


class Logger:
    """Writes lines up to a verbosity."""

    def __init__(self, verbosity: int, form: Form, *, write: Callable[[str], object]) -> None:
        """`write(text)` gets each whole line; some have several lines in the text form."""
        self.verbosity = verbosity
        self._format = _in_json if form == "json" else _in_text
        self._write = write

    def log(self, line: _Line) -> None:
        self._write(f"{self._format(line)}\n")


_logger: Logger | None = None


def use(logger: Logger | None) -> None:
    """Log with this logger from now on, in all threads; None: log nothing."""
    global _logger  # noqa: PLW0603 - one log per process, as with klog
    _logger = logger


def enabled(verbosity: int) -> bool:
    """Return whether lines of this verbosity are logged, for values that are costly to make."""
    return _logger is not None and verbosity <= _logger.verbosity


def info(verbosity: int, message: str, /, **pairs: object) -> None:
    """Log a line; an API object as a value is shown as `namespace/name`."""
    logger = _logger
    if logger is not None and verbosity <= logger.verbosity:
        logger.log(_Line("I", verbosity, message, pairs))


def error(verbosity: int, reason: object, message: str, /, **pairs: object) -> None:
    logger = _logger
    if logger is not None and verbosity <= logger.verbosity:
        logger.log(_Line("E", None, message, {"err": str(reason), **pairs}))


def shown(items: Iterable[str]) -> Object:
    """Return number and names of devices; at verbosity 6 only the first and the last ones."""
    names = sorted(items)
    count, part = len(names), _SHOWN_MAX // 2
    if count > _SHOWN_MAX and not enabled(7):
        names = [*names[:part], "...", *names[-part:]]
    return {"count": count, "devices": names}


# --------------------------------------------------------------------------------- forms


def _in_text(line: _Line) -> str:
    now = datetime.datetime.now(datetime.UTC).strftime("%m%d %H:%M:%S.%f")
    head = f"{line.severity}{now} {threading.get_native_id():7d} {_caller()}] "
    pairs = [f"{key}={_as_text(value)}" for key, value in line.pairs.items()]
    return head + " ".join([_quoted(line.message), *pairs])


def _in_json(line: _Line) -> str:
    document: Object = {
        "ts": datetime.datetime.now(datetime.UTC).timestamp() * 1000,
        "caller": _caller(),
        "msg": line.message,
    }
    if line.verbosity is not None:
        document["v"] = line.verbosity
    values = {key: _plain(value) for key, value in line.pairs.items()}
    return json.dumps({**document, **values}, ensure_ascii=False, default=str)


def _as_text(value: object) -> str:
    match _plain(value):
        case str(text) if "\n" in text:
            return _in_lines(text)
        case str(text):
            return _quoted(text)
        case plain if isinstance(value, Document):
            return _in_lines(json.dumps(plain, indent=2, ensure_ascii=False))
        case plain:
            return json.dumps(plain, separators=(",", ":"), ensure_ascii=False, default=str)


def _in_lines(text: str) -> str:
    return "".join(["<\n", *(f"\t{line}\n" for line in text.splitlines()), " >"])


def _plain(value: object) -> object:
    """Return a value for JSON: of an API object, `namespace/name`."""
    match value:
        case Document(content=content):
            return content
        case {"metadata": {"name": name, **meta}}:
            return f"{meta['namespace']}/{name}" if meta.get("namespace") else name
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _caller() -> str:
    for frame in _frames():
        name = os.path.basename(frame.f_code.co_filename)  # noqa: PTH119 - cheaper than a Path
        if name not in _OWN_FILES:
            return f"{name}:{frame.f_lineno}"
    return "unknown:0"


def _frames() -> Iterator[types.FrameType]:
    frame = inspect.currentframe()
    while frame:
        yield frame
        frame = frame.f_back


@dataclasses.dataclass(frozen=True, slots=True)
class _StepLine:
    verbosity: int
    message: str
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Key of the line: field of the step; `name(field)` is the name of the object with this UID."""


NAMES_MAX = 100_000
"""Names of pods and claims that are remembered, also of deleted ones."""
_POD, _CLAIM = {"pod": "name(pod)"}, {"claim": "name(claim)"}
_LINES = {
    "gather.started": _StepLine(6, "Starting GatherAllocatedState"),
    "gather.conflict": _StepLine(
        6, "Conflicting modification during GatherAllocatedState, trying again"
    ),
    "pre-bind.conflict": _StepLine(5, "retrying update after conflict", _CLAIM),
    "allocated-devices.inserted": _StepLine(
        6, "Observed device allocation", {"device": "device", **_CLAIM}
    ),
    "allocated-devices.removed": _StepLine(
        6, "Observed device deallocation", {"device": "device", **_CLAIM}
    ),
    "bind.started": _StepLine(3, "Attempting to bind pod to node", {**_POD, "node": "node"}),
    "bind.done": _StepLine(2, "Successfully bound pod to node", {**_POD, "node": "node"}),
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
        if line is None or not enabled(line.verbosity):
            return
        pairs = {key: self._value(field, fields) for key, field in line.keys.items()}
        info(line.verbosity, line.message, **pairs)

    def _value(self, field: str, fields: concurrency.StepFields) -> Any:
        if not field.startswith("name("):
            return fields[field]
        uid = str(fields[field[5:-1]])
        if uid not in self._names:
            known = {item["metadata"]["uid"]: informers.key_of(item) for item in self._objects()}
            # Objects may be deleted before the last line about them.
            self._names = {**self._names, **known} if len(self._names) < NAMES_MAX else known
        return self._names.get(uid, uid)
