"""Faults of the embedded server, script by script: its connections and its time are the test's.

A script of test_fault_scripts.txt has a step a line; ` -> ` leads to what a step tells. `NAME: GET
PATH BODY` is a request of the client NAME on a connection of its own, and `NAME:` what has come on
it since; ` && ` joins requests that come at once. A path is one of ConfigMaps unless it begins with
a slash; `+` adds a fault, `at` sets the time in seconds, at which timers go off; `log` tells what
the audit log has since. Versions are counted from the first: `v+1`.
"""

import asyncio
import json
import os
import pathlib
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.server import audit_log, connections, servers
from harness.faults import injection
from tests.support import faulty_servers, text_tables

ADMIN, WALL, FULL = "/flake-hunt/v1/", "2026-01-01T00:00:00Z", 65_536
CONFIGMAPS = resources.CONFIGMAPS
INITIAL = {"k8s.io/initial-events-end": "true"}
LISTS = ("clients", "verbs", "eventTypes")
OF_MATCH = {*LISTS, "userAgent", "resource", "subresource", "namespace", "name", "path"}
OF_SPEC = {"skip", "every", "count", "probability", "seed"}


class Loop(asyncio.SelectorEventLoop):
    now = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._failed: list[Any] = []
        self.set_exception_handler(lambda _, context: self._failed.append(context))

    def time(self) -> float:
        return self.now

    def do(self, call: Callable[..., Any], *given: Any) -> Any:
        """Call something on the loop; return its result when nothing is left to do just now."""

        async def run() -> Any:
            result = call(*given)
            for _ in range(12):
                await asyncio.sleep(0)
            return result

        result = self.run_until_complete(run())
        assert not self._failed
        return result


class Wire(asyncio.Transport):
    """The server's side of a connection."""

    def __init__(self, server: servers.Server, loop: Loop) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.sent, self.ending, self._loop = b"", "", loop
        self.server_side = connections.Connection(server)
        self.server_side.connection_made(self)

    def write(self, data: Any) -> None:
        self.sent += data
        if len(self.sent) > FULL:
            self.server_side.pause_writing()

    def read(self) -> bytes:
        sent, self.sent = self.sent, b""
        if len(sent) > FULL:
            self._loop.do(self.server_side.resume_writing)
        return sent

    def close(self, how: str = "closed") -> None:
        if not self.ending:
            self.ending = how
            self._loop.call_soon(self.server_side.connection_lost, None)

    def abort(self) -> None:
        self.close("aborted")

    def is_closing(self) -> bool:
        return bool(self.ending)

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Log(audit_log.AuditLog):
    """Keeps its events."""

    def __init__(self) -> None:
        super().__init__(pathlib.Path(os.devnull), now=lambda: WALL, writes_of=["configmaps"])
        self.events: list[dict[str, Any]] = []

    def append(self, event: dict[str, Any]) -> None:
        self.events.append(event | {"annotations": dict(event["annotations"])})


def named(number: int) -> dict[str, Any]:
    return {"metadata": {"name": f"n-{number}"}}


class Script:
    def __init__(self, loop: Loop) -> None:
        self._loop, self._wires, self.audit = loop, dict[str, Wire](), Log()
        store = stores.Store(now=lambda: WALL, stream=random.Random(1))
        self._first, self._uids = store.resource_version, dict[str, str]()
        store.listen(lambda commit: self._uids.update({commit.object.name: commit.object.uid}))
        faults = injection.Faults(now=self._now, call_later=loop.call_later)
        limits = servers.Limits(watch_unread_bytes_max=9_000)
        self.server = servers.Server(
            store, token=faulty_servers.TOKEN, now=lambda: WALL, coin=random.Random(1),
            faults=faults, limits=limits, audit=self.audit,
        )  # fmt: skip

    def _now(self) -> injection.FaultTime:
        return injection.FaultTime(WALL, round(self._loop.now * 1000))

    def do(self, step: str) -> str:
        word, *rest = step.strip().split(maxsplit=1)
        given = rest[0] if rest else ""
        if word.endswith(":"):
            return self._ask(word[:-1], given)
        if word in ("+", "-", "release", "faults", "applied", "facts", "log"):
            return getattr(self, "_" + {"+": "add", "-": "remove"}.get(word, word))(given)
        if word == "at":
            self._loop.now = float(given)
        store, server = self.server.store, self.server
        acts: dict[str, Callable[[], object]] = {
            "at": lambda: None,
            "leave": lambda: self._wires.pop(given).close("left"),
            "many": lambda: [
                store.create(CONFIGMAPS, "default", named(n)) for n in range(int(given))
            ],
            "compact": lambda: store.compact(CONFIGMAPS),
            "stop": lambda: asyncio.ensure_future(server.stop(timeout_s=5)),
        }
        self._loop.do(acts[word])
        return ""

    def _ask(self, client: str, given: str) -> str:
        wire = self._wires.get(client)
        if given:
            if wire is None or wire.ending:
                wire = self._wires[client] = Wire(self.server, self._loop)
            split = [(*one.split(" ", 2), "", "")[:3] for one in given.split(" && ")]
            asked = b"".join(self._request(client, *parts) for parts in split)
            self._loop.do(wire.server_side.data_received, asked)
        assert wire is not None
        return " ".join([*self._told(wire.read()), *filter(None, [wire.ending])]) or "nothing"

    def _request(self, client: str, method: str, path: str, body: str) -> bytes:
        name = path.partition("?")[0]
        if method in ("POST", "PUT") and not body:
            size = 70_000 if name.startswith("big") else 1
            made = {"metadata": {"name": name}, "data": {"x": method * size}}
            path, body = "" if method == "POST" else path, json.dumps(made)
        path = re.sub(r"v\+(\d+)", lambda found: str(int(found[1]) + self._first), path)
        path = path.removeprefix(".")
        if not path.startswith("/"):
            slash = "" if not path or path[0] == "?" else "/"
            path = faulty_servers.CONFIGMAPS + slash + path
        client = client.partition("/")[0]
        token = "wrong" if client == "stranger" else faulty_servers.TOKEN
        user = f"Impersonate-User: {client[1:] if client[0] == '=' else f'flake-hunt:{client}'}\r\n"
        user *= client != "anyone"
        return (
            f"{method} {path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n{user}"
            f"User-Agent: {client}/1\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()

    def _told(self, sent: bytes) -> Iterator[str]:
        while sent:
            head = b"chunked"  # a watch goes on
            if sent.startswith(b"HTTP/1.1"):
                head, _, sent = sent.partition(b"\r\n\r\n")
                yield head.split()[1].decode()
            if b"chunked" in head:
                yield from self._told_events(sent)
                return
            size = int(re.findall(rb"Content-Length: (\d+)", head)[0])
            body, sent = sent[:size], sent[size:]
            if found := re.findall(rb"Retry-After: (\d+)", head):
                yield f"after {found[0].decode()}"
            if 0 < len(body) < size:
                yield f"{len(body) - size // 2 or 'half'}"
            elif b"json" in head and body:
                yield from self._of(json.loads(body))

    def _told_events(self, sent: bytes) -> Iterator[str]:
        text, is_over = b"", False
        while sent:
            size, _, sent = sent.partition(b"\r\n")
            at = int(size, 16)
            text, sent, is_over = text + sent[:at], sent[at + 2 :], not at
        *lines, rest = text.split(b"\n")
        if is_over and rest and not lines:  # a long list
            yield from self._of(json.loads(rest))
            rest = b""
        for event in map(json.loads, lines):
            yield event["type"]
            assert {"kind", "apiVersion"} <= event["object"].keys()
            yield from self._of(event["object"])
        yield from [f"{len(rest)} bytes"] * bool(rest) + ["over"] * is_over

    def _of(self, document: dict[str, Any]) -> Iterator[str]:
        meta = document.get("metadata", {})
        if document.get("kind") == "Status":
            reason, message = document.get("reason", ""), document.get("message", "")
            yield from filter(None, [reason, message if len(message) < 20 else ""])
            if reason == "Expired":
                yield from (
                    f"v+{int(found) - self._first}" for found in re.findall(r"\d+", message)
                )
            return
        if "items" in document:
            names = [item["metadata"]["name"] for item in document["items"]]
            yield f"[{' '.join(names) if len(names) < 10 else len(names)}]"
        yield from filter(None, [meta.get("name"), document.get("data", {}).get("x", "")[:4]])
        if "annotations" in meta:
            yield "initial" if meta["annotations"] == INITIAL else "annotated"
        if document["apiVersion"].startswith("events"):
            yield document["apiVersion"]
        if "resourceVersion" in meta:
            yield f"v+{int(meta['resourceVersion']) - self._first}"

    def _admin(self, method: str, path: str, document: Any = None) -> tuple[int, Any]:
        wire = Wire(self.server, self._loop)
        body = "" if document is None else json.dumps(document)
        asked = self._request("admin", method, ADMIN + path, body)
        self._loop.do(wire.server_side.data_received, asked)
        head, _, text = wire.sent.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(text)

    def _add(self, given: str) -> str:
        point, kind, *pairs = given.split()
        match, action = dict[str, Any](), dict[str, Any](type=kind)
        document = {"point": point, "action": action, "match": match}
        for name, text in (pair.split("=", 1) for pair in pairs):
            value: Any = text.split(",") if name in LISTS else text
            if re.fullmatch(r"[-.\d]+|true|null", text):
                value = json.loads(text)
            of = match if name in OF_MATCH else document if name in OF_SPEC else action
            (document if name == "as" else of)["name" if name == "as" else name] = value
        status, told = self._admin("POST", "faults", document)
        return str(status) if status == 201 else f"{status} {told['message']}"

    def _remove(self, name: str) -> str:
        status, told = self._admin("DELETE", f"faults{'/' * bool(name)}{name}")
        return f"{status}{f' {self._described(told)}' if 'spec' in told else ''}"

    def _release(self, name: str) -> str:
        status, told = self._admin("POST", f"faults/{name}/release", {})
        return str(told["released"] if status == 200 else status)

    def _faults(self, name: str) -> str:
        status, told = self._admin("GET", f"faults{'/' * bool(name)}{name}")
        if status != 200:
            return str(status)
        items = told["items"] if not name else [told]
        sequence = [f"last {told['lastSequence']}"] if not name else []
        return ", ".join([*map(self._described, items), *sequence])

    @staticmethod
    def _described(one: dict[str, Any]) -> str:
        applied, held, is_used_up = (one[key] for key in ("appliedCount", "heldCount", "usedUp"))
        return f"{one['name']} {applied} held {held}{' used up' * is_used_up}"

    def _items(self, query: str) -> list[dict[str, Any]]:
        status, told = self._admin("GET", f"applied{query}")
        assert (status, told["bootID"]) == (200, clocks.boot_id())
        return list(told["items"])

    def _applied(self, query: str) -> str:
        """The number, fault, point, action, name and version of each, and from when to when."""
        told = []
        for item in self._items(query):
            facts, (begun, ended) = item["facts"], (item["begun"], item["ended"] or {})
            version = f"v+{facts['resourceVersion'] - self._first}"
            words = [item["fault"], item["point"], item["action"]["type"], facts["name"], version]
            times = f"{begun['monotonicNs'] / 1000:g}-{ended.get('monotonicNs', 'x')}"
            times = re.sub(r"-(\d+)", lambda found: f"-{int(found[1]) / 1000:g}", times)
            told.append(
                " ".join([str(item["sequence"]), *filter(None, [*words, times, item["note"]])])
            )
        return ", ".join(told) or "none"

    def _log(self, _: str) -> str:
        """The writes of ConfigMaps that were logged since, and up to where reads were sent."""
        told = []
        for event in self.audit.events:
            sent = event["annotations"].get(audit_log.SENT)
            what = f"v+{int(sent) - self._first}" if sent else event["objectRef"].get("name", "")
            told.append(f"{event['verb']} {what}")
        self.audit.events.clear()
        return ", ".join(told) or "nothing"

    def _facts(self, _: str) -> str:
        """The path, the other facts in their order, and the version of the last application."""
        facts = self._items("")[-1]["facts"]
        version, path = facts.pop("resourceVersion") - self._first, facts.pop("path")
        uid = facts.pop("uid") or "-"
        if uid == self._uids.get(facts["name"]):
            uid = "uid"
        path = path.replace(faulty_servers.CONFIGMAPS, "~")
        return f"{path} {'|'.join(facts.values())} {uid} v+{version}"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.setattr(connections, "_unsent_bytes", lambda _: 0)
    monkeypatch.setattr("harness.listening.reset", lambda wire: wire.close("reset"))
    monkeypatch.setattr(audit_log, "_READS_OF", "configmaps")
    loop = Loop()
    script = loop.do(Script, loop)
    yield script
    loop.close()
    script.audit.close()


@pytest.mark.parametrize("steps", text_tables.scripts(__file__, "test_fault_scripts.txt"))
def test_a_script(script: Script, steps: list[str]) -> None:
    for step in steps:
        done, arrow, expected = step.partition("->")
        told = script.do(done)
        assert not arrow or told == expected.strip(), done
