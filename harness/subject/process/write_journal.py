"""Journals the writes of a subject process: what it asked of the API server, and the answers.

The lines have the shapes of `history.records` (header, invocation, completion, trailer), but are
written independently, as those of `recording` are. The certificate looks for every acknowledged
write among the observations.
"""

import itertools
import pathlib
import threading
import time
from typing import Any

import msgspec

from harness.client import transports
from harness.subject.process import recording

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_MESSAGE_MAX = 200
"""Maximum length of a recorded message, in characters."""
_REQUEST_TIMEOUT = 408
"""The one 4xx status that does not say that the request had no effect."""


class _Meta(msgspec.Struct):
    name: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the API's spelling


class _Device(msgspec.Struct):
    driver: str
    pool: str
    device: str


class _Devices(msgspec.Struct):
    results: list[_Device] | None = None


class _Allocation(msgspec.Struct):
    devices: _Devices = msgspec.field(default_factory=_Devices)


class _ClaimStatus(msgspec.Struct):
    allocation: _Allocation | None = None


class _Answer(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    reason: Any = ""
    kind: Any = ""
    status: msgspec.Raw = msgspec.Raw(b"{}")
    """Read only if the object is a claim."""


_answers = msgspec.json.Decoder(_Answer)
_claim_statuses = msgspec.json.Decoder(_ClaimStatus)


class WriteJournal:
    """A journal of API calls. Like steps, each line is one write(2) call without any lock."""

    def __init__(self, path: pathlib.Path, *, process: str, run_id: str) -> None:
        self._lines = recording.LineFile(path, process=process, run_id=run_id)
        self._operations = itertools.count(1)

    def begin(self, request: transports.Request) -> int:
        """Record a call that is about to be made; return its number."""
        op = next(self._operations)
        namespace, resource, name = _target(request)
        verb = "bind" if resource.endswith("/binding") else _VERBS[request.method]
        self._add(
            record="invocation",
            op=op,
            user=threading.current_thread().name,
            verb=verb,
            resource=resource,
            namespace=namespace,
            name=name,
            ts_ns=time.monotonic_ns(),
        )
        return op

    def answered(self, op: int, response: transports.Response) -> None:
        answer = _decode(response.body)
        self._add(
            record="completion",
            op=op,
            outcome=_outcome(response.status),
            ts_ns=time.monotonic_ns(),
            status=response.status,
            reason=str(answer.reason),
            uid=answer.metadata.uid,
            resource_version=answer.metadata.resourceVersion,
            devices=_devices(answer),
        )

    def failed(self, op: int, error: BaseException) -> None:
        """Record that a call got no complete answer."""
        was_sent = not isinstance(error, transports.TransportError) or error.sent
        self._add(
            record="completion",
            op=op,
            outcome="unknown" if was_sent else "fail",
            ts_ns=time.monotonic_ns(),
            message=" ".join(str(error)[:_MESSAGE_MAX].split()),
        )

    def _add(self, **record: Any) -> None:
        self._lines.next_number()
        self._lines.put(record)

    def close(self) -> None:
        """Write the trailer; all threads that make calls must have ended."""
        self._lines.close()


class JournaledTransport:
    """A transport whose writes are journaled."""

    def __init__(self, inner: transports.Transport, journal: WriteJournal) -> None:
        self._inner, self._journal = inner, journal

    def send(self, request: transports.Request) -> transports.Response:
        if request.method not in _VERBS:
            return self._inner.send(request)
        op = self._journal.begin(request)
        try:
            response = self._inner.send(request)
        except BaseException as error:
            # The call has ended, whatever the reason: the journal needs its completion.
            self._journal.failed(op, error)
            raise
        self._journal.answered(op, response)
        return response

    def watch(self, request: transports.Request) -> transports.Watch:
        return self._inner.watch(request)

    def close(self) -> None:
        self._inner.close()


def _target(request: transports.Request) -> tuple[str, str, str]:
    parts = request.path.partition("?")[0].strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    if not name and request.body:
        name = _decode(request.body).metadata.name
    return namespace, f"{plural}/{subresource}" if subresource else plural, name


def _decode(body: bytes) -> _Answer:
    try:
        return _answers.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Answer()


def _devices(answer: _Answer) -> list[str] | None:
    if answer.kind != "ResourceClaim":
        return None
    try:
        allocation = _claim_statuses.decode(answer.status).allocation
    except msgspec.DecodeError:
        return None
    results = allocation.devices.results or () if allocation else ()
    return [f"{item.driver}/{item.pool}/{item.device}" for item in results]


def _outcome(status: int) -> str:
    if 200 <= status < 300:
        return "ok"
    return "fail" if 400 <= status < 500 and status != _REQUEST_TIMEOUT else "unknown"
