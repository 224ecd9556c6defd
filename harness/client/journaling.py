"""A transport that journals each write: the invocation before the call, the completion after it."""

import itertools
import pathlib
from typing import Any

import msgspec

from harness import clocks, concurrency, writing
from harness.client import outcomes, transports
from harness.faults import api_calls
from harness.history import journal_writer, records
from harness.model import devices

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


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


class _Object(msgspec.Struct):
    """The parts of a request or response body that the journal records."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)
    kind: Any = ""
    status: msgspec.Raw = msgspec.Raw(b"{}")
    """Read only if the object is a claim."""
    reason: str = ""
    message: Any = ""
    """A text in a `Status`; other kinds may have any value in a field of this name."""


MESSAGE_MAX = 200
"""Maximum length of a recorded message, in characters."""
_objects = msgspec.json.Decoder(_Object)
_claim_statuses = msgspec.json.Decoder(_ClaimStatus)


class Journal:
    """The numbered operations of one process. Thread-safe."""

    def __init__(self, writer: journal_writer.Writer) -> None:
        self._writer = writer
        self._guard = concurrency.lock("journal")
        self._numbers = itertools.count(1)

    def next_op(self) -> int:
        return next(self._numbers)

    def write(self, record: records.Body) -> None:
        with self._guard:
            self._writer.write(record)

    def close(self) -> None:
        with self._guard:
            self._writer.close()


def opened(path: pathlib.Path, *, process: str, run_id: str) -> Journal:
    """Begin a journal. Raises StorageError or UnwritableError if it cannot be written."""
    with writing.explained(path):
        return Journal(journal_writer.Writer(path, process=process, run_id=run_id))


class JournalingTransport:
    """Wraps a transport and journals each write."""

    def __init__(
        self, inner: transports.Transport, journal: Journal, *, user: str | None = None
    ) -> None:
        """`user` is the logical process that calls; None: the name of the calling thread."""
        self._inner, self._journal, self._user = inner, journal, user
        self._retired = 0

    def send(self, request: transports.Request) -> transports.Response:
        if request.method not in _VERBS:
            return self._inner.send(request)
        op = self._journal.next_op()
        self._journal.write(self._invocation(op, request))
        try:
            response = self._inner.send(request)
        except BaseException as error:
            # The call has ended, whatever the reason: the journal needs its completion.
            self._complete(
                records.Completion(
                    op=op,
                    outcome=outcomes.of_error(error),
                    ts_ns=clocks.monotonic_ns(),
                    message=_on_one_line(str(error)),
                )
            )
            raise
        self._complete(_completion(op, response))
        return response

    def watch(self, request: transports.Request) -> transports.Watch:
        return self._inner.watch(request)

    def close(self) -> None:
        """Close the inner transport, but not the journal, which may be shared."""
        self._inner.close()

    @property
    def user(self) -> str:
        """The logical process; a new one after each call with an unknown outcome."""
        name = self._user or concurrency.current_thread_name()
        return f"{name}.{self._retired}" if self._retired else name

    def _complete(self, completion: records.Completion) -> None:
        self._journal.write(completion)
        if completion.outcome == "unknown":
            self._retired += 1

    def _invocation(self, op: int, request: transports.Request) -> records.Invocation:
        call = api_calls.parse(request.method, request.path.partition("?")[0])
        name = call.name
        if not name and request.body:
            name = _objects.decode(request.body).metadata.name
        of = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
        return records.Invocation(
            op=op,
            user=self.user,
            verb="bind" if call.subresource == "binding" else _VERBS[request.method],
            resource=of,
            namespace=call.namespace,
            name=name,
            ts_ns=clocks.monotonic_ns(),
        )


def _completion(op: int, response: transports.Response) -> records.Completion:
    try:
        answer = _objects.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        answer = _Object()
    outcome = outcomes.of_status(response.status)
    return records.Completion(
        op=op,
        outcome=outcome,
        ts_ns=clocks.monotonic_ns(),
        status=response.status,
        reason=answer.reason,
        message="" if outcome == "ok" else _on_one_line(str(answer.message)),
        uid=answer.metadata.uid,
        resource_version=answer.metadata.resourceVersion,
        devices=_devices(answer) if outcome == "ok" else None,
    )


def _devices(answer: _Object) -> list[str] | None:
    """Return the allocated devices of a claim; None for any other object."""
    if answer.kind != "ResourceClaim":
        return None
    try:
        allocation = _claim_statuses.decode(answer.status).allocation
    except msgspec.DecodeError:
        return None
    results = (allocation.devices.results or ()) if allocation else ()
    return [str(devices.DeviceID(item.driver, item.pool, item.device)) for item in results]


def _on_one_line(text: str) -> str:
    line = " ".join(text[: 10 * MESSAGE_MAX].split())
    return line if len(line) <= MESSAGE_MAX else f"{line[: MESSAGE_MAX - 1]}…"
