"""The subject's writes are journaled in the form that the checks read."""

import pathlib

import pytest

from harness.client import transports
from harness.history import journal_reader, records
from harness.subject.process import write_journal

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/tests/resourceclaims"
ANSWER = b'{"metadata": {"name": "a", "uid": "uid-a", "resourceVersion": "7"}}'


class _Server:
    """Answers every request; a body of `lost` gets no answer."""

    def __init__(self, status: int = 200, body: bytes = ANSWER) -> None:
        self._response = transports.Response(status, body)
        self.is_closed = False

    def send(self, request: transports.Request) -> transports.Response:
        if request.body == b"lost":
            raise transports.TransportError("sent, but\ngot nothing", sent=True)
        return self._response

    def watch(self, request: transports.Request) -> transports.Watch:
        raise NotImplementedError

    def close(self) -> None:
        self.is_closed = True


def _journaled(
    path: pathlib.Path, server: _Server, *requests: transports.Request
) -> list[records.Body]:
    """The records of the journal after these requests."""
    journal = write_journal.WriteJournal(path / "operations.jsonl", process="x", run_id="r")
    transport = write_journal.JournaledTransport(server, journal)
    for request in requests:
        if request.body == b"lost":
            with pytest.raises(transports.TransportError):
                transport.send(request)
        else:
            transport.send(request)
    transport.close()
    journal.close()
    read = journal_reader.read(path / "operations.jsonl")
    assert read.header is not None
    assert (read.header.process, read.header.run_id) == ("x", "r")
    assert read.trailer is not None
    return read.records


def _request(method: str, path: str, body: bytes | None = None) -> transports.Request:
    return transports.Request(method=method, path=path, body=body)


def test_a_write_is_journaled_with_the_version_of_the_answer(tmp_path: pathlib.Path) -> None:
    begin, end = _journaled(tmp_path, _Server(), _request("PUT", f"{CLAIMS}/a/status", b"{}"))
    assert isinstance(begin, records.Invocation)
    assert (begin.verb, begin.resource) == ("update", "resourceclaims/status")
    assert (begin.namespace, begin.name) == ("tests", "a")
    assert isinstance(end, records.Completion)
    assert (end.op, end.outcome, end.status) == (begin.op, "ok", 200)
    assert (end.uid, end.resource_version) == ("uid-a", "7")


HELD = b'{"allocation":{"devices":{"results":[{"driver":"d","pool":"a/b","device":"0"}]}}}'


@pytest.mark.parametrize(
    ("kind", "status", "devices"),
    [
        (b'"ResourceClaim"', HELD, ["d/a/b/0"]),
        (b'"ResourceClaim"', b"{}", []),
        (b'"ResourceClaim"', b'{"allocation":{"devices":{}}}', []),
        (b'"ResourceClaim"', b'"Failure"', None),
        (b'"ResourceClaim"', b"null", None),
        (b'"Pod"', HELD, None),
        (b"[1]", HELD, None),
        (b'"Status"', b'"Failure"', None),
    ],
)
def test_the_devices_of_claims_are_journaled(
    tmp_path: pathlib.Path, kind: bytes, status: bytes, devices: list[str] | None
) -> None:
    server = _Server(body=b'{"kind":%b,"metadata":{"uid":"u"},"status":%b}' % (kind, status))
    _, end = _journaled(tmp_path, server, _request("PUT", f"{CLAIMS}/a/status", b"{}"))
    assert isinstance(end, records.Completion)
    assert (end.uid, end.devices) == ("u", devices)


def test_a_creation_is_journaled_with_the_name_in_its_body(tmp_path: pathlib.Path) -> None:
    begin, _ = _journaled(tmp_path, _Server(201), _request("POST", CLAIMS, ANSWER))
    assert isinstance(begin, records.Invocation)
    assert (begin.verb, begin.resource, begin.name) == ("create", "resourceclaims", "a")


def test_a_binding_is_no_version_of_the_pod(tmp_path: pathlib.Path) -> None:
    path = "/api/v1/namespaces/tests/pods/p/binding"
    begin, end = _journaled(tmp_path, _Server(201, b'{"kind":"Status"}'), _request("POST", path))
    assert isinstance(begin, records.Invocation)
    assert (begin.verb, begin.resource, begin.name) == ("bind", "pods/binding", "p")
    assert isinstance(end, records.Completion)
    assert (end.uid, end.resource_version) == ("", "")


@pytest.mark.parametrize(
    ("status", "outcome"), [(409, "fail"), (408, "unknown"), (500, "unknown"), (503, "unknown")]
)
def test_a_refused_write_has_the_outcome_of_its_status(
    tmp_path: pathlib.Path, status: int, outcome: str
) -> None:
    server = _Server(status, b'{"kind":"Status","reason":"Conflict"}')
    _, end = _journaled(tmp_path, server, _request("DELETE", f"{CLAIMS}/a"))
    assert isinstance(end, records.Completion)
    assert (end.outcome, end.status, end.reason) == (outcome, status, "Conflict")


def test_a_write_without_an_answer_has_an_unknown_outcome(tmp_path: pathlib.Path) -> None:
    _, end = _journaled(tmp_path, _Server(), _request("PATCH", f"{CLAIMS}/a", b"lost"))
    assert isinstance(end, records.Completion)
    assert (end.outcome, end.message, end.status) == ("unknown", "sent, but got nothing", None)


def test_reads_are_not_journaled(tmp_path: pathlib.Path) -> None:
    server = _Server(200, b"not JSON")
    assert _journaled(tmp_path, server, _request("GET", CLAIMS)) == []
    assert server.is_closed
