"""Whatever a client sends: every answer is one that a kube-apiserver could give, in time, and the
server lives on.

`FLAKE_HUNT_EXAMPLES=5000 python -m pytest --timeout 0 tests/fuzzing` looks further.
"""

import contextlib
import http.client
import json
import os
import random
import socket
import urllib.parse
from collections.abc import Iterator
from typing import Any, BinaryIO

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.fuzzing import inputs, wires

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
FUZZ = hypothesis.settings(
    max_examples=int(os.environ.get("FLAKE_HUNT_EXAMPLES", "60")),
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
BOMB = b"a0: &a0 x\n" + b"".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n".encode() for n in range(1, 12)
)
"""YAML of a few hundred bytes that stands for 10^11 values."""
BODY_BYTES_MAX = 3 * 1024 * 1024


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wires.Server]:
    made = wires.Server(tmp_path_factory.mktemp("server"))
    for collection, document in inputs.DOCUMENTS.items():
        kept = {**document, "metadata": {"name": "kept"}}
        answer = made.send("POST", collection, json.dumps(kept).encode())
        assert answer.status == 201, answer
    yield made
    made.stop()


@pytest.fixture
def server(running: wires.Server) -> Iterator[wires.Server]:
    yield running
    running.require_health()


def check(server: wires.Server, method: str, target: str, body: Any = None, **headers: str) -> None:
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = server.send(method, target, data, named)
    if method == "HEAD":  # its answers have no body to explain a mistake
        assert answer.status < 500, answer
    else:
        wires.require_sense(answer)


@FUZZ
@hypothesis.given(
    damaged=inputs.damaged(), method=st.sampled_from(["POST", "PUT", "STATUS", "DRY"])
)
def test_documents_with_wrong_values(
    server: wires.Server, damaged: tuple[str, Any], method: str
) -> None:
    collection, document = damaged
    match method:
        case "POST":
            check(server, "POST", collection, document)
            check(server, "DELETE", f"{collection}/fuzz?gracePeriodSeconds=0")
        case "DRY":
            check(server, "POST", f"{collection}?dryRun=All&fieldValidation=Strict", document)
        case "PUT":
            check(server, "PUT", f"{collection}/kept", document)
        case _:
            check(server, "PUT", f"{collection}/kept/status", document)


@FUZZ
@hypothesis.given(
    damaged=inputs.damaged(),
    content_type=inputs.PATCH_TYPES,
    subresource=st.sampled_from(["", "/status"]),
)
def test_patches_with_wrong_values(
    server: wires.Server, damaged: tuple[str, Any], content_type: str, subresource: str
) -> None:
    collection, document = damaged
    target = f"{collection}/kept{subresource}?fieldManager=fuzz&dryRun=All&force=true"
    if "apply" not in content_type:
        target = target.removesuffix("&force=true")
    check(server, "PATCH", target, document, Content_Type=content_type)


@FUZZ
@hypothesis.given(collection=inputs.COLLECTIONS, patch=inputs.JSON_PATCHES)
def test_json_patches(server: wires.Server, collection: str, patch: Any) -> None:
    kind = "application/json-patch+json"
    check(server, "PATCH", f"{collection}/kept?dryRun=All", patch, Content_Type=kind)


@FUZZ
@hypothesis.given(
    collection=inputs.COLLECTIONS,
    body=inputs.JSON,
    content_type=inputs.CONTENT_TYPES,
    method=st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
)
def test_any_json(
    server: wires.Server, collection: str, body: Any, content_type: str, method: str
) -> None:
    target = collection if method == "POST" else f"{collection}/fuzz"
    check(server, method, target, body, Content_Type=content_type)


@FUZZ
@hypothesis.given(
    body=st.one_of(
        st.binary(max_size=60),
        st.sampled_from(
            [
                b"\xff\xfe",
                b'{"metadata":{"name":"\xff"}}',
                b'{"a":' * 2000,
                b"[" * 20000,
                b"{}{}",
                b'{"a":1,"a":2}',
                b"NaN",
                b'{"a":1e999}',
                b"k8s\x00\x0a",
                b"[" * 20000 + b"#",
                b'"\\ud800"',
                b"a: &a [*a]",
                BOMB,
            ]
        ),
    ),
    content_type=inputs.CONTENT_TYPES,
    method=st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
)
def test_any_bytes(server: wires.Server, body: bytes, content_type: str, method: str) -> None:
    target = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/kept?dryRun=All&fieldManager=fuzz"
    check(server, method, target, body, Content_Type=content_type)


def test_a_document_that_stands_for_too_much(server: wires.Server) -> None:
    yaml = {"Content-Type": "application/yaml"}
    answer = server.send("POST", CONFIGMAPS, BOMB, yaml)
    assert (answer.status, b"excessive aliasing" in answer.body) == (400, True)
    answer = server.send("POST", CONFIGMAPS, b"a: &a [*a]", yaml)
    assert answer.status == 400


@FUZZ
@hypothesis.given(
    parts=inputs.PATHS, query=inputs.QUERIES, method=inputs.METHODS, accept=inputs.ACCEPTS
)
def test_any_path_query_and_header(
    server: wires.Server, parts: list[str], query: list[tuple[str, str]], method: str, accept: str
) -> None:
    hypothesis.assume("watch" not in parts)
    path = urllib.parse.quote("/" + "/".join(parts), safe="/%")
    body = b"{}" if method in ("POST", "PUT", "PATCH") else None
    check(server, method, f"{path}?{urllib.parse.urlencode(query)}", body, Accept=accept)


@FUZZ
@hypothesis.given(collection=inputs.COLLECTIONS, query=inputs.QUERIES, accept=inputs.ACCEPTS)
def test_any_query_of_a_list(
    server: wires.Server, collection: str, query: list[tuple[str, str]], accept: str
) -> None:
    check(server, "GET", f"{collection}?{urllib.parse.urlencode(query)}", Accept=accept)
    check(server, "GET", f"{collection}/kept?{urllib.parse.urlencode(query)}", Accept=accept)


@FUZZ
@hypothesis.given(query=inputs.QUERIES)
def test_any_query_of_a_watch(server: wires.Server, query: list[tuple[str, str]]) -> None:
    options = urllib.parse.urlencode([("watch", "1"), ("timeoutSeconds", "1"), *query])
    with server.connected() as connection:
        connection.sendall(server.head("GET", f"{CONFIGMAPS}?{options}"))
        assert connection.recv(12).startswith(b"HTTP/1.1 ")


@FUZZ
@hypothesis.given(
    uid=inputs.SCALARS, version=inputs.SCALARS, grace=inputs.SCALARS, policy=inputs.SCALARS
)
def test_any_options_of_a_deletion(
    server: wires.Server, uid: Any, version: Any, grace: Any, policy: Any
) -> None:
    preconditions = {"uid": uid, "resourceVersion": version}
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": preconditions,
        "gracePeriodSeconds": grace,
        "propagationPolicy": policy,
    }
    check(server, "DELETE", f"{CONFIGMAPS}/kept?dryRun=All", options)


@FUZZ
@hypothesis.given(data=st.binary(max_size=200))
def test_bytes_that_are_no_request(server: wires.Server, data: bytes) -> None:
    with server.connected() as connection, contextlib.suppress(ConnectionError):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(65536)
        assert not answer or answer.startswith(b"HTTP/1.1 400"), answer


@FUZZ
@hypothesis.given(cut=st.integers(0, 400), reset=st.booleans())
def test_requests_that_end_in_the_middle(server: wires.Server, cut: int, reset: bool) -> None:
    body = json.dumps(inputs.DOCUMENTS[CONFIGMAPS]).encode()
    whole = server.head("POST", f"{CONFIGMAPS}?dryRun=All", f"Content-Length: {len(body)}") + body
    with server.connected() as connection, contextlib.suppress(ConnectionError):
        connection.sendall(whole[: min(cut, len(whole) - 1)])
        if not reset:
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
            assert not answer or answer.startswith(b"HTTP/1.1 400"), answer


@FUZZ
@hypothesis.given(
    targets=st.lists(
        st.sampled_from(
            ["/readyz", f"{CONFIGMAPS}/kept", f"{CONFIGMAPS}/none", "/nope", CONFIGMAPS]
        ),
        min_size=1,
        max_size=12,
    ),
    seed=st.integers(0, 1000),
)
def test_pipelined_requests_are_answered_in_order(
    server: wires.Server, targets: list[str], seed: int
) -> None:
    expected = [server.send("GET", target).status for target in targets]
    data = b"".join(server.head("GET", target) for target in targets)
    stream = random.Random(seed)
    with server.connected() as connection:
        while data:
            size = stream.randint(1, 400)
            connection.sendall(data[:size])
            data = data[size:]
        with connection.makefile("rb") as reader:
            statuses = [_status_of_whole_answer(reader) for _ in targets]
    assert statuses == expected


def _status_of_whole_answer(reader: BinaryIO) -> int:
    status = int(reader.readline().split()[1])
    head = http.client.parse_headers(reader)
    reader.read(int(head["Content-Length"]))
    return status


def test_a_body_that_is_too_large(server: wires.Server) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}}
    body = json.dumps({**document, "data": {"a": "x" * BODY_BYTES_MAX}}).encode()
    answer = server.send("POST", CONFIGMAPS, body, {"Content-Type": "application/json"})
    wires.require_sense(answer)
    assert answer.status == 413


def test_a_length_that_is_a_lie(server: wires.Server) -> None:
    for length in ("-1", "x", "99999999999999999999", "1, 2"):
        with server.connected() as connection, contextlib.suppress(ConnectionError):
            connection.sendall(server.head("POST", CONFIGMAPS, f"Content-Length: {length}"))
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
            assert not answer or answer.split()[1] in (b"400", b"413"), answer


def test_headers_without_end(server: wires.Server) -> None:
    with server.connected() as connection, contextlib.suppress(ConnectionError):
        connection.sendall(server.head("GET", "/readyz")[:-2])
        for number in range(20_000):
            connection.sendall(f"X-{number}: {'y' * 100}\r\n".encode())
        answer = connection.recv(65536)
        assert not answer or answer.split()[1] in (b"400", b"413", b"431"), answer
