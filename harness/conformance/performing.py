"""A rule against a server: its steps in order, until one is answered otherwise than expected."""

import collections
import contextlib
import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from harness import clocks, concurrency
from harness.client import transports
from harness.conformance import addressing, expecting, rulebooks, values

WATCH_S = 20
"""The server ends a watch after so long; an event that has not come until then is not there."""
ASK_AGAIN_S = 0.1
_CREATED = 201
_OK = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A step that was answered otherwise."""

    request: str
    body: str
    shortcomings: Sequence[str]
    answer: str


class Performance:
    """One rule being performed."""

    def __init__(self, transport: transports.Transport, *, namespace: str, name: str) -> None:
        self._transport, self._namespace = transport, namespace
        self._known: dict[str, Any] = {"name": name, "ns": namespace}
        self._watches: dict[str, transports.Watch] = {}
        self._lines: dict[str, Iterator[bytes]] = {}
        self.created: list[str] = []
        """Paths of what was made."""

    def perform(self, rule: rulebooks.Rule) -> Failure | None:
        """The first step that is not answered as expected."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._close)
            for step in rule.steps:
                if failure := self._take(step):
                    return failure
        return None

    def _take(self, step: rulebooks.Step) -> Failure | None:
        if step.verb == "EVENTS":
            return self._collect(step)
        request = self._request(step)
        deadline_ns = clocks.monotonic_ns() + int(step.within_s * 1e9)
        while True:
            status, body = self._send(step, request)
            found = expecting.shortcomings(step, status, body, self._known)
            if not found or clocks.monotonic_ns() >= deadline_ns:
                break
            concurrency.sleep(ASK_AGAIN_S)
        self._remember(step, request, status, body)
        return self._failure(request, found, body) if found else None

    def _request(self, step: rulebooks.Step) -> transports.Request:
        target, query = (
            values.fill(step.target, self._known),
            values.fill(dict(step.query), self._known),
        )
        method = step.verb
        if step.verb == "WATCH":
            method, query = "GET", {"watch": True, "timeoutSeconds": WATCH_S, **query}
        return transports.Request(
            method=method,
            path=addressing.with_query(addressing.path(target, self._namespace), query),
            body=self._body(step),
            content_type=rulebooks.PATCHES.get(step.patch, "application/json"),
        )

    def _body(self, step: rulebooks.Step) -> bytes | None:
        if step.text is not None:
            return str(values.fill(step.text, self._known)).encode()
        if step.body is None:
            return None
        body = step.body
        if isinstance(body, str) and body in rulebooks.templates():
            body = rulebooks.templates()[body]
        document = values.fill(body, self._known)
        if step.changes is not None:
            document = values.merge(document, values.fill(step.changes, self._known))
        return json.dumps(document).encode()

    def _send(self, step: rulebooks.Step, request: transports.Request) -> tuple[int, Any]:
        if step.verb != "WATCH":
            response = self._transport.send(request)
            return response.status, _decoded(response.body)
        watch = self._transport.watch(request)
        if watch.status != _OK:
            return watch.status, _decoded(b"".join(watch))
        self._watches[step.label], self._lines[step.label] = watch, iter(watch)
        return watch.status, None

    def _remember(
        self, step: rulebooks.Step, request: transports.Request, status: int, body: Any
    ) -> None:
        if step.label and step.verb != "WATCH":
            self._known[step.label] = body
        name = values.at(body, "metadata.name")
        if status == _CREATED and name is not values.ABSENT:
            path = request.path.partition("?")[0]
            self.created.append(f"{path}/{name}" if request.method == "POST" else path)

    def _collect(self, step: rulebooks.Step) -> Failure | None:
        lines = self._lines[step.target]
        events = [_decoded(line) for _, line in zip(step.events, lines, strict=False)]
        expected = values.fill(list(step.events), self._known)
        got = [_event_text(event) for event in events]
        found = [] if got == expected else [f"expected {expected}, got {got}"]
        found += expecting.shortcomings(
            dataclasses.replace(step, gives=_OK), _OK, {"events": events}, self._known
        )
        if step.label:
            self._known[step.label] = {"events": events}
        request = transports.Request(method="EVENTS", path=step.target)
        return self._failure(request, found, events) if found else None

    def _failure(self, request: transports.Request, found: Sequence[str], answer: Any) -> Failure:
        return Failure(
            request=f"{request.method} {request.path}",
            body=(request.body or b"").decode(),
            shortcomings=tuple(found),
            answer=json.dumps(answer),
        )

    def _close(self) -> None:
        for label, watch in self._watches.items():
            watch.close()
            collections.deque(self._lines[label], maxlen=0)  # to its end: that frees the connection


def _event_text(event: Any) -> str:
    """`ADDED name`; a bookmark or an error has no name."""
    name = values.at(event, "object.metadata.name")
    kind = str(values.at(event, "type"))
    return kind if name in (values.ABSENT, "") else f"{kind} {name}"


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return data.decode(errors="replace")
