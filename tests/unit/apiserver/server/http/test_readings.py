"""The server reads requests as h11 does, or refuses them: no two readers see different requests in
the same bytes.

`llhttp.json` has the published test cases of llhttp 9.4.2 (MIT, see LICENSE-llhttp; made by
tools/llhttp_cases.py). llhttp is also what the server parses with; its published results show that
it is used in its strict mode.
"""

import asyncio
import collections
import itertools
import json
import pathlib
import random
from typing import Any

import pytest

from harness.apiserver.server import http_parsing
from tests.unit.apiserver.server.http import parties

REFUSALS = {400, 413, 431, 501, 505}
TIMEOUT_S = 20
CASES: list[dict[str, Any]] = json.loads(
    pathlib.Path(__file__).with_name("llhttp.json").read_text()
)
LAXER = {
    "method: SOURCE request with ICE": "httptools does not tell the name of the protocol; the answer is HTTP and the last one",
    "method: OPTIONS request with RTSP": "as above",
    "method: ANNOUNCE request with RTSP": "as above",
}
"""Inputs that the server accepts although h11 rejects them, with the reason."""
STRICTER = {
    "connection: Multiple tokens with folding and LWS": "an upgrade to websocket is refused",
    "connection: Setting a flag and pausing": "an upgrade is refused",
    "connection: Emitting part of body and pausing": "an upgrade is refused",
    "connection: Upgrade GET request": "an upgrade is refused",
    "connection: Upgrade POST request": "an upgrade to HTTP/2.0 by that name is refused; h2c is ignored",
    "content-length: Error on `Content-Length` overflow": "h11 waits for more than a body may have",
    "content-length: Error on duplicate `Content-Length`": "the second length is refused before the head ends",
    "content-length: Missing CRLF-CRLF before body": "a line without a colon is refused before the head ends",
    "invalid: HTTP protocol and ANNOUNCE method": "a method of RTSP",
    "invalid: Headers separated by LF": "RFC 9112, 2.2: a bare LF may end a line; llhttp refuses it, since proxies differ",
    "invalid: Headers separated by dummy characters": "a bare CR is refused at once",
    "invalid: Empty headers separated by LF": "a bare LF",
    "invalid: Missing CR between headers": "a bare LF",
    "invalid: Invalid method": "methods that no API server has are refused, not answered with 405",
    "invalid: Invalid HTTP version": "refused before the head ends",
    "invalid: Invalid space after start line": "refused before the head ends",
    "invalid: Spaces before headers": "RFC 9112, 5.2: folded headers may be refused",
    "method: CONNECT request": "tunnels are not served",
    "method: CONNECT request with CAPS": "tunnels are not served",
    "method: CONNECT with body": "tunnels are not served",
    "method: PRI request HTTP2": "the preface of HTTP/2",
    "sample: Line folding in header value with LF": "a bare LF",
    "sample: No LF after CR": "a bare CR is refused at once",
    "transfer-encoding: No extension after semicolon": "RFC 9112, 7.1.1: an extension has a name",
    "transfer-encoding: Unbalanced chunk extensions quoting": "refused before the line ends",
    "transfer-encoding: Space after chunk header": "RFC 9112, 7.1: no space after the size of a chunk",
    "uri: Underscore in hostname": "CONNECT: tunnels are not served",
}
"""Inputs that the server rejects although h11 accepts them or waits for more, with the reason."""


class Server:
    """Reads what it is sent, and is judged for it."""

    def __init__(self, live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        parties.let_everybody_in(live.server, monkeypatch)
        self._live = live

    def read(self, text: bytes, step: int = 0) -> parties.Reading:
        """Return what it reads; every request has one answer, and after a refusal there is
        nothing.
        """
        talk = parties.converse(self._live.server, text, step)
        told = asyncio.run_coroutine_threadsafe(talk, self._live._loop).result(TIMEOUT_S)
        expected = [200] * len(told.reading.messages)
        if told.reading.end == "refused":
            assert told.codes.pop() in REFUSALS, text
        assert (told.codes, told.rest) == (expected, b""), text
        return told.reading


@pytest.fixture
def server(live: Any, monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(live, monkeypatch)


def require_no_smuggling(server: Server, text: bytes) -> tuple[parties.Reading, parties.Reading]:
    """The server reads what h11 reads, up to where it refuses to read on; in pieces as in one."""
    ours, theirs = server.read(text), parties.read_by_h11(text)
    assert server.read(text, step=1) == ours, text
    if ours.end == "refused":
        assert ours.messages == theirs.messages[: len(ours.messages)], text
    else:
        assert ours == theirs, text
    return ours, theirs


# ---------------------------------------------------------------- published cases


def published() -> list[tuple[dict[str, Any], bytes]]:
    """Each case as it is, and with the header that HTTP/1.1 asks for."""
    found = []
    for case in CASES:
        text = case["text"].encode("latin-1")
        found.append((case, text))
        if b"host:" not in text.lower():
            line = b" HTTP/1.1\r\n"
            found.append((case, text.replace(line, line + b"Host: x\r\n", 1)))
    return found


def test_published_requests_are_read_as_h11_reads_them(server: Server) -> None:
    differing: dict[str, set[str]] = collections.defaultdict(set)
    for case, text in published():
        ours, theirs = server.read(text), parties.read_by_h11(text)
        assert server.read(text, step=1) == ours, case["name"]
        if ours == theirs:
            continue
        kind = "stricter" if ours.end == "refused" else "laxer"
        differing[kind].add(case["name"])
        shown = ours.messages[: len(theirs.messages)] if kind == "laxer" else ours.messages
        assert shown == theirs.messages[: len(shown)], case["name"]
    assert differing["laxer"] == LAXER.keys()
    assert differing["stricter"] == STRICTER.keys()


def test_what_llhttp_refuses_is_refused(server: Server) -> None:
    refused = [(case, text) for case, text in published() if case["fails"]]
    assert len(refused) > 50
    for case, text in refused:
        ours = server.read(text)
        assert ours.end in ("refused", "closed"), case["name"]
        assert len(ours.messages) <= case["messages"], case["name"]


def test_most_published_requests_are_read(server: Server) -> None:
    read = [case["name"] for case, text in published() if server.read(text).messages]
    assert len(set(read)) > 40


# ---------------------------------------------------------------- smuggling

LENGTHS = [
    b"",
    b"Content-Length: 5\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 5\r\nContent-Length: 5\r\n",
    b"Content-Length: 5\r\nContent-Length: 6\r\n",
    b"Content-Length: 5, 5\r\n",
    b"Content-Length: +5\r\n",
    b"Content-Length: -5\r\n",
    b"Content-Length: 0x5\r\n",
    b"Content-Length: 5 5\r\n",
    b"Content-Length : 5\r\n",
    b"Content-Length:\x0b5\r\n",
    b"Content-Length: 005\r\n",
    b"Content-Length:\r\n",
    b"Content_Length: 5\r\n",
    b"X: y\r\n Content-Length: 5\r\n",
    b"X: y\nContent-Length: 5\r\n",
    b"X: y\rContent-Length: 5\r\n",
    b"X: y\0\r\nContent-Length: 5\r\n",
]
ENCODINGS = [
    b"",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: CHUNKED\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: chunked, gzip\r\n",
    b"Transfer-Encoding: chunked, chunked\r\n",
    b"Transfer-Encoding: xchunked\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
    b"Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"Transfer-Encoding:\x0bchunked\r\n",
    b"Transfer-Encoding:\r\n chunked\r\n",
    b"Transfer-Encoding: \tchunked \r\n",
    b"Transfer-Encoding:\r\n",
    b" Transfer-Encoding: chunked\r\n",
    b"Transfer_Encoding: chunked\r\n",
]
BODIES = [b"", b"abcde", b"5\r\nabcde\r\n0\r\n\r\n", b"0\r\n\r\n"]
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_a_body_has_one_length(server: Server, version: bytes) -> None:
    read: set[parties.End] = set()
    for length, encoding, body in itertools.product(LENGTHS, ENCODINGS, BODIES):
        head = b"POST / HTTP/%b\r\nHost: x\r\n" % version + length + encoding
        text = head + b"\r\n" + body + SMUGGLED
        ours = server.read(text)
        read.add(ours.end)
        if ours.end == "refused":
            theirs = parties.read_by_h11(text)
            assert ours.messages == theirs.messages[: len(ours.messages)], text
        else:
            assert ours == parties.read_by_h11(text), text
        if b"Content-Length" in head and b"ransfer-Encoding:" in head:
            assert (ours.messages, ours.end) == ([], "refused"), text
    assert "refused" in read
    assert read & {"open", "closed"}


CHUNKS = [
    b"5\r\nabcde\r\n0\r\n\r\n",
    b"05\r\nabcde\r\n000\r\n\r\n",
    b"A\r\n0123456789\r\n0\r\n\r\n",
    b"5;a=b\r\nabcde\r\n0;c\r\n\r\n",
    b'5;a="b c"\r\nabcde\r\n0\r\n\r\n',
    b"5;a\nabcde\r\n0\r\n\r\n",
    b"5;a\rb\r\nabcde\r\n0\r\n\r\n",
    b"5 ;a\r\nabcde\r\n0\r\n\r\n",
    b"5\nabcde\n0\n\n",
    b"5\r\nabcdeXX0\r\n\r\n",
    b"5\r\nabcdefg\r\n0\r\n\r\n",
    b"6\r\nabcde\r\n0\r\n\r\n",
    b"-5\r\nabcde\r\n0\r\n\r\n",
    b"+5\r\nabcde\r\n0\r\n\r\n",
    b"0x5\r\nabcde\r\n0\r\n\r\n",
    b"\r\nabcde\r\n0\r\n\r\n",
    b";a\r\nabcde\r\n0\r\n\r\n",
    b"5\r\nabcde\r\n0\r\nTrailer: a\r\n\r\n",
    b"5\r\nabcde\r\n0\r\nContent-Length: 5\r\n\r\n",
    b"5\r\nabcde\r\n0\r\n folded\r\n\r\n",
    b"0\r\n\r\n",
]


@pytest.mark.parametrize("chunks", CHUNKS)
def test_chunks_end_where_h11_ends_them(server: Server, chunks: bytes) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    require_no_smuggling(server, head + chunks + SMUGGLED)


@pytest.mark.parametrize(
    "size", [b"f" * 15, b"f" * 16, b"f" * 17, b"1" + b"0" * 16, b"7" + b"f" * 15]
)
def test_a_huge_chunk_is_refused_or_waited_for_and_never_wrapped(
    server: Server, size: bytes
) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    ours = server.read(head + size + b"\r\n" + SMUGGLED)
    assert ours.messages == []
    assert ours.end in ("refused", "incomplete")


def test_what_is_too_large_is_refused_once(server: Server) -> None:
    post = b"POST / HTTP/1.1\r\nHost: x\r\n"
    length = http_parsing.BODY_BYTES_MAX + 1
    for text in (
        post + b"Content-Length: %d\r\n\r\n" % length + SMUGGLED,
        post + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % length + b"x" * length,
        post + b"X: " + b"x" * http_parsing.HEADER_BYTES_MAX + b"\r\n\r\n" + SMUGGLED,
        b"GET /" + b"x" * http_parsing.HEADER_BYTES_MAX + b" HTTP/1.1\r\n",
    ):
        assert server.read(text) == parties.Reading([], "refused")


# ---------------------------------------------------------------- at random

SCRAPS = [
    *(b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST /p HTTP/1.1\r\nHost: x\r\n", b"PUT /u HTTP/1.0\r\n"),
    *(b"\r\n", b"\r\n\r\n", b"\n", b"\r", b" ", b"\t", b"\0", b":", b"\xff"),
    *(b"Connection: close\r\n", b"Connection: keep-alive\r\n", b"Expect: 100-continue\r\n"),
    *(b"Upgrade: h2c\r\nConnection: upgrade\r\n", b"X: y\r\n", b"Host: z\r\n"),
    *(LENGTHS[1], LENGTHS[2], ENCODINGS[1], ENCODINGS[4]),
    *(BODIES[1], BODIES[2], BODIES[3], SMUGGLED, b"5\r\n", b"abcde\r\n"),
]


def test_at_random_no_request_is_seen_that_h11_does_not_see(server: Server) -> None:
    dice = random.Random(1)
    seen = 0
    for _ in range(1500):
        start = dice.choice(SCRAPS[:3])
        text = start + b"".join(dice.choices(SCRAPS, k=dice.randrange(1, 9)))
        ours, theirs = server.read(text), parties.read_by_h11(text)
        assert server.read(text, step=3) == ours, text
        assert ours.messages == theirs.messages[: len(ours.messages)], text
        assert ours == theirs or ours.end == "refused", text
        seen += len(ours.messages)
    assert seen > 100
