"""Journals every changing call of a transport: the invocation before it, the completion after it (house rule 6)."""

import itertools

import msgspec

from harness import clocks, concurrency
from harness.client import outcomes, transports
from harness.history import records

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class _Meta(msgspec.Struct):
    name: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the API's spelling


class _Answer(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    reason: str = ""


_answers = msgspec.json.Decoder(_Answer)


class JournalingTransport:
    """Another transport, with every changing call in a journal."""

    def __init__(self, inner: transports.Transport, writer: records.Writer) -> None:
        self._inner, self._writer = inner, writer
        self._guard = concurrency.lock("journal")
        self._numbers = itertools.count(1)

    def send(self, request: transports.Request) -> transports.Response:
        """Journal, send, journal."""
        if request.method not in _VERBS:
            return self._inner.send(request)
        op = next(self._numbers)
        self._write(self._invocation(op, request))
        try:
            response = self._inner.send(request)
        except transports.TransportError as error:
            outcome = outcomes.of_error(error)
            self._write(records.Completion(op=op, outcome=outcome, ts_ns=clocks.monotonic_ns()))
            raise
        self._write(_completion(op, response))
        return response

    def watch(self, request: transports.Request) -> transports.Watch:
        """Watches change nothing."""
        return self._inner.watch(request)

    def close(self) -> None:
        """Close the transport; the journal is its owner's to close."""
        self._inner.close()

    def _invocation(self, op: int, request: transports.Request) -> records.Invocation:
        namespace, resource, name = describe_path(request.path)
        verb = "bind" if resource.endswith("/binding") else _VERBS[request.method]
        return records.Invocation(
            op=op,
            user=concurrency.current_thread_name(),
            verb=verb,
            resource=resource,
            namespace=namespace,
            name=name,
            ts_ns=clocks.monotonic_ns(),
        )

    def _write(self, record: records.Body) -> None:
        with self._guard:
            self._writer.write(record)


def _completion(op: int, response: transports.Response) -> records.Completion:
    try:
        answer = _answers.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        answer = _Answer()
    return records.Completion(
        op=op,
        outcome=outcomes.of_status(response.status),
        ts_ns=clocks.monotonic_ns(),
        status=response.status,
        reason=answer.reason,
        uid=answer.metadata.uid,
        resource_version=answer.metadata.resourceVersion,
    )


def describe_path(path: str) -> tuple[str, str, str]:
    """(namespace, resource with its subresource, name) of a request path."""
    parts = path.partition("?")[0].strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    return namespace, f"{plural}/{subresource}" if subresource else plural, name
