"""Every changing call is a pair of records; after an unknown outcome, the process id is retired."""

import contextlib
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from harness.client import apis, journaling, kubeconfigs, transports
from harness.history import journal_reader, journal_writer, records
from tests.support import http_answers

POST = transports.Request(method="POST", path="/api/v1/namespaces/n/pods", body=b"{}")
LEASE: dict[str, Any] = {"metadata": {"name": "l"}, "spec": {}}


class Journaled:
    """A journal in a file."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self.journal = journaling.Journal(journal_writer.Writer(path, process="p", run_id="r"))
        self._inner: list[transports.Transport] = []

    def over(self, endpoint: Any, *, user: str | None = "user-1") -> journaling.JournalingTransport:
        if isinstance(endpoint, pathlib.Path):
            endpoint = kubeconfigs.load(endpoint)
        inner = transports.HttpTransport(endpoint)
        self._inner.append(inner)
        return journaling.JournalingTransport(inner, self.journal, user=user)

    def read(self) -> list[Any]:
        return list(journal_reader.read(self._path).records)

    def pairs(self) -> list[tuple[records.Invocation, records.Completion]]:
        """Each invocation with its only completion, which comes after it."""
        found = self.read()
        begun = {r.op: (i, r) for i, r in enumerate(found) if isinstance(r, records.Invocation)}
        ended = {r.op: (i, r) for i, r in enumerate(found) if isinstance(r, records.Completion)}
        assert len(begun) + len(ended) == len(found)
        assert begun.keys() == ended.keys()
        assert all(begun[op][0] < ended[op][0] for op in begun)
        return [(begun[op][1], ended[op][1]) for op in sorted(begun)]

    def close(self) -> None:
        for inner in self._inner:
            inner.close()
        self.journal.close()


@pytest.fixture
def journaled(tmp_path: pathlib.Path) -> Iterator[Journaled]:
    made = Journaled(tmp_path / "operations-p.jsonl")
    yield made
    made.close()


def test_every_changing_call_is_a_pair(server: Any, journaled: Journaled) -> None:
    api = apis.Api(journaled.over(server.kubeconfig))
    made = api.create(apis.LEASES, LEASE, namespace="default")
    assert api.get(apis.LEASES, "l", namespace="default") == made
    with pytest.raises(apis.ApiError):
        api.create(apis.LEASES, LEASE, namespace="default")
    updated = api.update(apis.LEASES, made | {"spec": {"holderIdentity": "me"}})
    patched = api.patch(apis.LEASES, "l", {"spec": {"holderIdentity": "x"}}, namespace="default")
    api.delete(apis.LEASES, "l", namespace="default")
    with pytest.raises(apis.ApiError):
        api.delete(apis.LEASES, "l", namespace="default")
    api.watch(apis.LEASES, resource_version=made["metadata"]["resourceVersion"]).close()
    pairs = journaled.pairs()  # reads are not journaled
    assert [(i.verb, c.outcome, c.status, c.reason) for i, c in pairs] == [
        ("create", "ok", 201, ""),
        ("create", "fail", 409, "AlreadyExists"),
        ("update", "ok", 200, ""),
        ("patch", "ok", 200, ""),
        ("delete", "ok", 200, ""),
        ("delete", "fail", 404, "NotFound"),
    ]
    assert {(i.user, i.resource, i.namespace, i.name) for i, _ in pairs} == {
        ("user-1", "leases", "default", "l")
    }
    assert pairs[0][1].uid == made["metadata"]["uid"]
    versions = [obj["metadata"]["resourceVersion"] for obj in (made, updated, patched)]
    assert [pairs[n][1].resource_version for n in (0, 2, 3)] == versions
    assert all(i.ts_ns <= c.ts_ns for i, c in pairs)


def test_bindings_and_statuses_have_names_of_their_own(server: Any, journaled: Journaled) -> None:
    api = apis.Api(journaled.over(server.kubeconfig))
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = api.create(apis.PODS, {"metadata": {"name": "p"}, "spec": spec}, namespace="default")
    api.bind(pod, "node")
    api.patch(apis.PODS, "p", {"status": {}}, namespace="default", subresource="status")
    made = [(i.verb, i.resource, i.name) for i, _ in journaled.pairs()]
    assert made == [
        ("create", "pods", "p"),
        ("bind", "pods/binding", "p"),
        ("patch", "pods/status", "p"),
    ]


def test_the_devices_of_claims_are_recorded(server: Any, journaled: Journaled) -> None:
    api = apis.Api(journaled.over(server.kubeconfig))
    exactly = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    api.create(apis.CLAIMS, {"metadata": {"name": "c"}, "spec": spec}, namespace="default")
    result = {"request": "r", "driver": "gpu.example", "pool": "a/b", "device": "d0"}
    status = {"allocation": {"devices": {"results": [result]}}}
    api.patch(apis.CLAIMS, "c", {"status": status}, namespace="default", subresource="status")
    with pytest.raises(apis.ApiError):
        api.create(apis.CLAIMS, {"metadata": {"name": "c"}, "spec": spec}, namespace="default")
    api.create(apis.LEASES, LEASE, namespace="default")
    found = [completion.devices for _, completion in journaled.pairs()]
    assert found == [[], ["gpu.example/a/b/d0"], None, None]
    api.delete(apis.CLAIMS, "c", namespace="default")


def test_the_invocation_is_written_before_the_call(scripted: Any, journaled: Journaled) -> None:
    seen: list[Any] = []

    def look(connection: Any) -> None:
        connection.recv(65536)
        seen.extend(journaled.read())
        connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")

    journaled.over(scripted(look).endpoint).send(POST)
    (invocation,) = seen
    assert isinstance(invocation, records.Invocation)
    journaled.pairs()


def answer(status: str, body: bytes = b"{}") -> Any:
    """One answer on a connection of its own."""
    head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return http_answers.answering(head.encode() + body)


OK, BROKEN = answer("200 OK"), answer("500 Oops")


def test_an_unknown_outcome_retires_the_user(scripted: Any, journaled: Journaled) -> None:
    transport = journaled.over(scripted(OK, http_answers.read_request, OK, BROKEN, OK).endpoint)
    for lost in (False, True, False, False, False):
        with pytest.raises(transports.TransportError) if lost else contextlib.nullcontext():
            transport.send(POST)
    pairs = journaled.pairs()
    outcomes = ["ok", "unknown", "ok", "unknown", "ok"]
    assert [completion.outcome for _, completion in pairs] == outcomes
    users = ["user-1", "user-1", "user-1.1", "user-1.1", "user-1.2"]
    assert [invocation.user for invocation, _ in pairs] == users
    assert [completion.status for _, completion in pairs] == [200, None, 200, 500, 200]
    assert pairs[1][1].message != "", "why there was no answer"


class Interrupted:
    """A transport that cuts its caller off, as a user of the traffic may be."""

    def send(self, request: transports.Request) -> transports.Response:
        raise KeyboardInterrupt

    def watch(self, request: transports.Request) -> transports.Watch:
        raise KeyboardInterrupt

    def close(self) -> None:
        pass


def test_a_call_that_is_cut_off_is_a_pair_too(journaled: Journaled) -> None:
    transport = journaling.JournalingTransport(Interrupted(), journaled.journal, user="user-1")
    with pytest.raises(KeyboardInterrupt):
        transport.send(POST)
    ((_, completion),) = journaled.pairs()
    assert completion.outcome == "unknown"
    assert transport.user == "user-1.1"


def test_a_refused_connection_is_a_definite_failure(journaled: Journaled, scripted: Any) -> None:
    server = scripted()
    server.finish()  # there is no listener any more
    transport = journaled.over(server.endpoint)
    for _ in range(2):
        with pytest.raises(transports.TransportError):
            transport.send(POST)
    pairs = journaled.pairs()
    assert [(i.user, c.outcome) for i, c in pairs] == [("user-1", "fail")] * 2


def test_without_a_name_the_thread_is_the_user(server: Any, journaled: Journaled) -> None:
    transport = journaled.over(server.kubeconfig, user=None)

    def create() -> None:
        transport.send(POST)
        transport.close()

    thread = threading.Thread(target=create, name="binder-7")
    thread.start()
    thread.join(20)
    assert [invocation.user for invocation, _ in journaled.pairs()] == ["binder-7"]


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("device.foo(", "device.foo("),
        ("first\nsecond\r\n\tthird", "first second third"),
        ("x" * 10_000, "x" * (journaling.MESSAGE_MAX - 1) + "…"),
    ],
)
def test_why_a_call_failed_is_kept_on_one_line(
    scripted: Any, journaled: Journaled, message: str, kept: str
) -> None:
    status = {"kind": "Status", "reason": "Invalid", "message": message}
    server = scripted(answer("422 No", msgspec.json.encode(status)))
    journaled.over(server.endpoint).send(POST)
    [(_, completion)] = journaled.pairs()
    assert (completion.reason, completion.message) == ("Invalid", kept)


def test_a_message_in_an_object_is_none_of_an_error(scripted: Any, journaled: Journaled) -> None:
    """An Event has a text of this name, another kind may have anything."""
    body = b'{"message":["x"],"metadata":{"uid":"u"}}'
    journaled.over(scripted(answer("201 Created", body)).endpoint).send(POST)
    [(_, completion)] = journaled.pairs()
    assert (completion.uid, completion.message) == ("u", "")
