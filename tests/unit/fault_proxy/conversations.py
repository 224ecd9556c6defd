"""Conversations through one client of the proxy, all in this process and on one loop.

A line of a conversation says what one side does, or what the other side must get, in order
(`<1000>` is a thousand letters x, `<9 headers>` are nine):

    fault NAME POINT ACTION | OF THE ACTION | OF THE FAULT    it is added; `release|remove NAME`
    client GET /path | HEADERS | BODY    the client sends a request; `client raw BYTES`
    server gets GET /path | HEADERS | BODY    all headers but the host and the credentials
    server 200 OK | HEADERS | BODY       it answers; without a body, `server sends PIECE` follows
    client gets 200 OK | HEADERS | BODY  without a body, `client reads PIECE`
    client sees end|close|reset      of a response in pieces, or of the connection
    server ends|closes|resets        the same at the other side; `server sees close`
    client leaves                    it closes its connection; the next request opens another one
    nothing                          neither side gets anything
    applied FAULT OBJECT [TYPE] [held] + ...    all that was recorded
    facts FACTS                      the last one has these facts; `noted NOTE`
    note VERSION                     a version is noted; `passes SECONDS`: time for stale reads
    begin                            notes of versions begin; `known [SECONDS, VERSION, NOTE]`
    delay SECONDS                    a fault has delayed something by this, and the time is over
    kubeconfig USER [| PREFIX]       of the client from now on, its `server gets` names credentials
    write FILE TEXT                  FILE is beside the kubeconfig, in the folder FOLDER
    watches NUMBER                   that many at a time; `slow`: it reads little ahead; `waits`
    limit MODULE.NAME NUMBER         another limit; `log LINES`: their number
    stop                             the proxy begins to stop; it still `stops`; it is `stopped`
"""

import asyncio
import contextlib
import gzip
import json
import pathlib
import re
import socket
from typing import Any, NamedTuple

import msgspec
import pytest

from harness import listening
from harness.fault_proxy import (
    exchanges,
    proxied_clients,
    settings,
    stale_reads,
    upstreams,
    watch_relays,
)
from harness.faults import injection
from harness.faults import stale_reads as stale_versions
from tests.support import faulty_servers, protobuf_messages, written_kubeconfigs

TIMEOUT_S = 20
MANY = re.compile(r"<(\d+) headers>")
LARGE = re.compile(r"<(\d+)>")
BAR = re.compile(r" \|(?= |$)")
FRAMED = {"Content-Length", "Transfer-Encoding"}
IDLE_S, TURNS = 0.0005, 20
LIMIT, SLOW_LIMIT = 64 * 1024 * 1024, 4096
Headers = list[tuple[str, str]]


def piece(text: str) -> bytes:
    """The bytes that a text describes, such as `gzip json a/n/uid/5`."""
    if " + " in text:
        return b"".join(map(piece, text.split(" + ")))
    kind, _, rest = text.partition(" ")
    match kind:
        case "json":
            return json.dumps(described(rest)).encode()
        case "proto":
            return protobuf_messages.encode(described(rest))
        case "line" | "frame":
            name, _, rest = rest.partition(" ")
            if kind == "frame":
                return protobuf_messages.event_frame(name, piece(f"proto {rest}"))
            return json.dumps({"type": name, "object": described(rest)}).encode() + b"\n"
        case "gzip":
            return gzip.compress(piece(rest), mtime=0)
        case "big":
            return b"x" * int(rest)
        case "first" | "rest":
            at, _, whole = rest.partition(" ")
            return piece(whole)[: int(at)] if kind == "first" else piece(whole)[int(at) :]
    return text.encode().decode("unicode_escape").encode("latin-1")


def described(text: str) -> dict[str, Any]:
    """An object: a document, a ConfigMap as name/namespace/uid/version/data, or a list at @version.

    The parts are objects in the list.
    """
    if text.startswith("{"):
        found: dict[str, Any] = json.loads(text)
        return found
    if text.startswith("@"):
        version, *parts = text[1:].split(" ")
        items = [described(part) for part in parts]
        kind, meta = "ConfigMapList", {"resourceVersion": version}
        return {"kind": kind, "apiVersion": "v1", "metadata": meta, "items": items}
    values = [*text.split("/"), "", "", "", ""]
    names = ("name", "namespace", "uid", "resourceVersion")
    meta = {name: value for name, value in zip(names, values, strict=False) if value}
    data = {"data": {"a": values[4]}} if values[4] else {}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta} | data


def listed(text: str, body: bytes | None = None) -> Headers:
    """The headers in a text, and the length of a body, unless it says another one or chunked."""
    pairs = [item.partition(": ") for item in text.split("; ") if item]
    found = {(name, value) for name, _, value in pairs}
    if body is not None and not {name for name, _ in found} & FRAMED:
        found.add(("Content-Length", str(len(body))))
    return sorted(found)


def columns(text: str) -> tuple[str, str, str | None]:
    """The first line, the headers, and the body; None: there is no such column."""
    first, *more = (column.strip() for column in BAR.split(text))
    return first, more[0] if more else "", more[1] if len(more) > 1 else None


class Reader(asyncio.StreamReader):
    """One that still gives what came before a reset."""

    is_reset = False

    def set_exception(self, exc: BaseException) -> None:
        self.is_reset = isinstance(exc, ConnectionResetError)
        self.feed_eof()


class Side:
    """One side's connection: what it gets, whole messages or pieces of a body."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.is_chunked, self.rest = False, b""
        self.is_gone = asyncio.Event()

    async def head(self) -> tuple[str, Headers]:
        head = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        parts = [line.partition(": ") for line in lines]
        headers = sorted((name, value) for name, _, value in parts)
        self.is_chunked = ("Transfer-Encoding", "chunked") in headers
        return first, headers

    async def body(self, headers: Headers) -> bytes:
        if self.is_chunked:
            pieces = []
            while chunk := await self.chunk():
                pieces.append(chunk)
            return b"".join(pieces)
        return await self.reader.readexactly(int(dict(headers).get("Content-Length", 0)))

    async def chunk(self) -> bytes:
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def read(self, size: int) -> bytes:
        if not self.is_chunked:
            return await self.reader.readexactly(size)
        while len(self.rest) < size:
            chunk = await self.chunk()
            assert chunk, f"the response ended after {self.rest!r}"
            self.rest += chunk
        found, self.rest = self.rest[:size], self.rest[size:]
        return found

    async def gone(self) -> str:
        await self.is_gone.wait()
        return "close"

    async def end(self) -> str:
        """How its response, or the connection, ends."""
        assert self.rest == b""
        if found := await self.reader.read(65536):
            assert found == b"0\r\n\r\n"
            return "end"
        return "reset" if isinstance(self.reader, Reader) and self.reader.is_reset else "close"

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def send_message(self, first: str, headers: Headers, body: bytes | None) -> None:
        """Send a head and a body; without a body, its pieces follow."""
        lines = [first, *(f"{name}: {value}" for name, value in headers)]
        names = {name.lower() for name, _ in headers}
        if not names & {"content-length", "transfer-encoding"}:
            if body is None:
                lines.append("Transfer-Encoding: chunked")
            elif body or not first.endswith("HTTP/1.1"):
                lines.append(f"Content-Length: {len(body)}")
        self.is_chunked = "Transfer-Encoding: chunked" in lines
        if self.is_chunked and body:
            body = chunked(body) + chunked(b"")
        await self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))

    async def send_piece(self, data: bytes) -> None:
        await self.send(chunked(data) if self.is_chunked else data)


def chunked(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class Request(NamedTuple):
    """A request that the API server got."""

    side: Side
    first: str
    headers: Headers
    body: bytes


class Conversation:
    """A client of the proxy, an API server behind it, and both of their sides."""

    def __init__(self, folder: pathlib.Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        patch.setattr(stale_reads, "INTERVAL_S", 10 * IDLE_S)
        self.clock, self.now_s = faulty_servers.Clock(), 1000.0
        self.log: list[str] = []
        self.requests: asyncio.Queue[Request] = asyncio.Queue()
        self.sides: list[Side] = []
        self.is_slow = False
        self.credentials = [("Authorization", "Bearer up")]
        self.client: Side | None = None
        self.server: Side | None = None

    async def play(self, steps: list[str]) -> None:
        """Play all lines of a conversation."""
        upstream = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LIMIT)
        self.url = f"http://127.0.0.1:{listening.port_of(upstream)}"
        path = written_kubeconfigs.write(self.folder / "upstream", self.url, user={"token": "up"})
        self.faults = injection.Faults(now=self.clock.now, call_later=self.clock.call_later)
        self.notes = stale_reads.VersionNotes(self.faults, always=False)
        self.notes.times = stale_versions.VersionTimes(lambda: self.now_s)
        client = settings.Client(name="c1", kubeconfig=path, proxied_kubeconfig=self.folder)
        async with upstreams.open_session() as session:
            self.session = session
            self.proxied = proxied_clients.ProxiedClient(
                client, session, self.faults, self.notes, self.log.append
            )
            proxy = await listening.listen(self.proxied.server, "127.0.0.1", 0)
            self.port = listening.port_of(proxy)
            try:
                for line in steps:
                    try:
                        await asyncio.wait_for(self._step(line), TIMEOUT_S)
                    except BaseException as error:
                        error.add_note(line)
                        raise
                assert self.requests.empty()
            finally:
                proxy.close()
                upstream.close()
                self.faults.clear()
                self.notes.stop()
                for side in self.sides:
                    side.writer.close()
                await self.proxied.stop(timeout_s=TIMEOUT_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        side = Side(reader, writer)
        self.sides.append(side)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                first, headers = await side.head()
                self.requests.put_nowait(Request(side, first, headers, await side.body(headers)))
        side.is_gone.set()

    async def _step(self, line: str) -> None:
        line = MANY.sub(lambda found: "; ".join(f"X-{at}: x" for at in range(int(found[1]))), line)
        word, _, rest = LARGE.sub(lambda found: "x" * int(found[1]), line).partition(" ")
        await getattr(self, f"do_{word}")(rest)

    async def do_fault(self, rest: str) -> None:
        head, action, more = columns(rest)
        name, point, kind = head.split(" ")
        given = json.loads(f"{{{action}}}") | {"type": kind}
        spec = {"name": name, "point": point, "action": given} | json.loads(f"{{{more or ''}}}")
        self.faults.add(msgspec.convert(spec, injection.FaultSpec))

    async def do_release(self, rest: str) -> None:
        self.faults.release(self.faults.get(rest))

    async def do_remove(self, rest: str) -> None:
        self.faults.remove(rest)

    async def do_delay(self, rest: str) -> None:
        seconds, over = self.clock.delays.pop(0)
        assert seconds == float(rest)
        over()

    async def do_write(self, rest: str) -> None:
        name, _, text = rest.partition(" ")
        (self.folder / name).write_text(text)

    async def do_kubeconfig(self, rest: str) -> None:
        user, prefix, _ = columns(rest.replace("FOLDER", str(self.folder)))
        path, self.credentials = self.proxied.settings.kubeconfig, []
        written_kubeconfigs.write(path, self.url + prefix, user=json.loads(user))
        self.proxied.upstream = upstreams.Upstream(self.proxied.settings, self.session)

    async def do_note(self, rest: str) -> None:
        self.notes.times.note(int(rest))

    async def do_passes(self, rest: str) -> None:
        self.now_s += float(rest)

    async def do_facts(self, rest: str) -> None:
        facts, wanted = msgspec.to_builtins(self.faults.applied[-1].facts), json.loads(rest)
        assert {name: facts[name] for name in wanted} == wanted

    async def do_noted(self, rest: str) -> None:
        assert self.faults.applied[-1].note == rest

    async def do_begin(self, _: str) -> None:
        self.notes.begin(self.proxied.upstream)

    async def do_known(self, rest: str) -> None:
        seconds, *wanted = json.loads(rest)
        assert list(self.notes.times.ago(seconds) or ()) == wanted

    async def do_limit(self, rest: str) -> None:
        where, _, name = rest.partition(" ")[0].partition(".")
        limited = {"exchanges": exchanges, "watch_relays": watch_relays}[where]
        self.patch.setattr(limited, name, int(rest.partition(" ")[2]))

    async def do_slow(self, _: str) -> None:
        self.is_slow = True

    async def do_stop(self, _: str) -> None:
        self.stopping = asyncio.create_task(self.proxied.stop(timeout_s=TIMEOUT_S))

    async def do_stops(self, _: str) -> None:
        assert not self.stopping.done()

    async def do_stopped(self, _: str) -> None:
        await self.stopping

    async def do_log(self, rest: str) -> None:
        assert len(self.log) == int(rest), self.log

    async def do_client(self, rest: str) -> None:
        word, _, more = rest.partition(" ")
        if word in ("gets", "reads", "sees"):
            await self._require("client", word, more)
        elif word == "leaves":
            assert self.client is not None
            self.client.writer.close()
            self.client = None
        else:
            await self._send_request(rest)

    async def do_server(self, rest: str) -> None:
        word, _, more = rest.partition(" ")
        if word in ("gets", "reads", "sees"):
            await self._require("server", word, more)
        else:
            await self._answer(word, rest)

    async def _send_request(self, rest: str) -> None:
        if self.client is None:
            loop = asyncio.get_running_loop()
            reader = Reader(limit=SLOW_LIMIT if self.is_slow else LIMIT)
            plain = socket.socket()
            if self.is_slow:
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_LIMIT)
            plain.connect(("127.0.0.1", self.port))
            transport, protocol = await loop.create_connection(
                lambda: asyncio.StreamReaderProtocol(reader), sock=plain
            )
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            self.client = Side(reader, writer)
            self.sides.append(self.client)
        if rest.startswith("raw "):
            await self.client.send(piece(rest[4:].replace("TOKEN", self.proxied.token)))
            return
        first, headers, body = columns(rest)
        given = listed(headers)
        if "Authorization" not in dict(given):
            given.append(("Authorization", f"Bearer {self.proxied.token}"))
        await self.client.send_message(
            f"{first} HTTP/1.1", [("Host", "x"), *given], piece(body or "")
        )

    async def do_watches(self, rest: str) -> None:
        """Open that many watches at a time; each gets an event."""
        for number in map(str, range(int(rest))):
            self.client = None
            await self._step("client GET /api/v1/configmaps?watch=1")
            await self._step("server gets GET /api/v1/configmaps?watch=1")
            await self._step("server 200 OK | Content-Type: application/json")
            await self._step(f"server sends line ADDED {number}")
            head = "200 OK | Content-Type: application/json; Transfer-Encoding: chunked"
            await self._step(f"client gets {head}")
            await self._step(f"client reads line ADDED {number}")

    async def _answer(self, word: str, rest: str) -> None:
        assert self.server is not None
        match word:
            case "sends":
                await self.server.send_piece(piece(rest.partition(" ")[2]))
            case "ends":
                await self.server.send_piece(b"")
            case "closes":
                self.server.writer.close()
            case "raw":
                await self.server.send(piece(rest.partition(" ")[2]))
            case "resets":
                listening.reset(self.server.writer.transport)
            case _:
                first, headers, body = columns(rest)
                content = None if body is None else piece(body)
                await self.server.send_message(f"HTTP/1.1 {first}", listed(headers), content)

    async def _require(self, who: str, word: str, rest: str) -> None:
        if (who, word) == ("server", "gets"):
            request = await self.requests.get()
            self.server = request.side
            headers = [item for item in request.headers if item[0] != "Host"]
            first, expected, body = columns(rest)
            is_read = first.partition(" ")[0] in ("GET", "HEAD") and not body
            wanted = listed(expected, None if is_read else piece(body or ""))
            wanted = sorted([*wanted, *self.credentials])
            assert (request.first, headers) == (f"{first} HTTP/1.1", wanted), request
            assert request.body == piece(body or "")
            return
        side = self.client if who == "client" else self.server
        assert side is not None
        if word == "reads":
            expected_piece = piece(rest)
            assert await side.read(len(expected_piece)) == expected_piece
        elif word == "sees":
            assert await (side.end() if who == "client" else side.gone()) == rest
        else:
            first, expected, body = columns(rest)
            got, headers = await side.head()
            content = None if body is None else piece(body)
            found = (got, headers)
            assert found == (f"HTTP/1.1 {first}", listed(expected, content)), found
            if content is not None:
                assert await side.body(headers) == content

    async def do_waits(self, _rest: str) -> None:
        for _ in range(TURNS):  # of the loop, however slow it is
            await asyncio.sleep(IDLE_S)

    async def do_nothing(self, rest: str) -> None:
        await self.do_waits(rest)
        assert self.requests.empty()
        if self.client is not None and not self.client.reader.at_eof():
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(self.client.reader.read(1), IDLE_S)

    async def do_applied(self, rest: str) -> None:
        wanted = [text for text in rest.split(" + ") if text]
        for _ in range(int(TIMEOUT_S / IDLE_S / 10)):  # it may be about to happen
            if self._applied() == wanted:
                return
            await asyncio.sleep(IDLE_S)
        assert self._applied() == wanted

    def _applied(self) -> list[str]:
        """All applications as `FAULT NAME/NAMESPACE/UID/VERSION [TYPE] [held]`."""
        found = []
        for item in self.faults.applied:
            facts = item.facts
            meta = (facts.name, facts.namespace, facts.uid, str(facts.resource_version or ""))
            words = [item.fault, "/".join(meta).rstrip("/"), facts.event_type]
            words.append("held" if item.ended is None else "")
            found.append(" ".join(filter(None, words)))
        return found
