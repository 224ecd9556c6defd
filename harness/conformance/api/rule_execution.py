"""Execute the steps of a rule in order, until a response is not as expected."""

import collections
import contextlib
import dataclasses
import json
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from harness import clocks, concurrency
from harness.client import transports
from harness.conformance.api import api_requests, rulebooks, values

_SUCCESS = range(200, 300)


def find_shortcomings(
    step: rulebooks.Step, status: int, body: Any, known: Mapping[str, Any]
) -> list[str]:
    """Return a sentence for each expectation of a step that the response does not meet.

    `known` has the values that references in the step may name.
    """
    return [*_of_status(step, status, body, known), *_of_body(step, body, known)]


def _of_status(
    step: rulebooks.Step, status: int, body: Any, known: Mapping[str, Any]
) -> Iterator[str]:
    if step.gives and status != step.gives:
        yield f"expected status {step.gives}, got {status}{_status_message(body)}"
    elif not step.gives and status not in _SUCCESS:
        yield f"expected success, got {status}{_status_message(body)}"
    if step.reason and values.at(body, "reason") != step.reason:
        yield f"expected reason {step.reason}, got {_shown(values.at(body, 'reason'))}"
    pattern = values.fill(step.says, known)
    message = values.at(body, "message")
    if pattern and not (isinstance(message, str) and re.search(pattern, message)):
        yield f"expected a message like {pattern!r}, got {_shown(message)}"


def _of_body(step: rulebooks.Step, body: Any, known: Mapping[str, Any]) -> Iterator[str]:
    for expected, word, holds in (
        (step.has, "to be", operator.eq),
        (step.matches, "to match", _matches),
        (step.counts, "to have the length", _has_length),
        (step.differs, "to be set and not", _differs),
        (step.above, "to be above", _is_above),
    ):
        for path, value in values.fill(dict(expected), known).items():
            actual = values.at(body, path)
            if not holds(actual, value):
                yield f"expected {path} {word} {value!r}, got {_shown(actual)}"
    for path in values.fill(list(step.lacks), known):
        actual = values.at(body, path)
        if actual is not values.ABSENT:
            yield f"expected {path} to be absent, got {_shown(actual)}"


def _matches(actual: Any, pattern: str) -> bool:
    return actual is not values.ABSENT and re.search(pattern, str(actual)) is not None


def _has_length(actual: Any, length: int) -> bool:
    return length == (len(actual) if isinstance(actual, list | dict) else 0)


def _differs(actual: Any, unwanted: Any) -> bool:
    return actual is not values.ABSENT and actual != unwanted


def _is_above(actual: Any, bound: Any) -> bool:
    return str(actual).isdigit() and int(actual) > int(bound)


def _status_message(body: Any) -> str:
    message = values.at(body, "message")
    return f": {message}" if isinstance(message, str) else ""


def _shown(value: Any) -> str:
    return "nothing" if value is values.ABSENT else repr(value)


WATCH_S = 20
"""The `timeoutSeconds` of watches; events that have not arrived by then count as missing."""
RETRY_S = 0.1
"""Pause between two attempts of a step with `within_s`."""
_CREATED = 201
_OK = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A step whose response was not as expected."""

    request: str
    """The method and path."""
    body: str
    """The body of the request."""
    shortcomings: Sequence[str]
    """A sentence for each expectation that was not met."""
    answer: str
    """The response as JSON."""


class RuleExecution:
    """The execution of one rule."""

    def __init__(self, transport: transports.Transport, *, namespace: str, name: str) -> None:
        self._transport, self._namespace = transport, namespace
        self._known: dict[str, Any] = {"name": name, "ns": namespace}
        self._watches: dict[str, transports.Watch] = {}
        self._lines: dict[str, Iterator[bytes]] = {}
        self.created: list[str] = []
        """The paths of the objects that were created."""

    def run(self, rule: rulebooks.Rule) -> Failure | None:
        """Return the first step whose response is not as expected, None if there is none.

        Raises KeyError if a step refers to a value that no response has.
        """
        with contextlib.ExitStack() as stack:
            stack.callback(self._close)
            for step in rule.steps:
                if failure := self._execute(step):
                    return failure
        return None

    def _execute(self, step: rulebooks.Step) -> Failure | None:
        if step.verb == "EVENTS":
            return self._collect(step)
        request = self._request(step)
        deadline_ns = clocks.monotonic_ns() + int(step.within_s * 1e9)
        while True:
            status, body = self._send(step, request)
            shortcomings = find_shortcomings(step, status, body, self._known)
            if not shortcomings or clocks.monotonic_ns() >= deadline_ns:
                break
            concurrency.sleep(RETRY_S)
        self._remember(step, request, status, body)
        return self._failure(request, shortcomings, body) if shortcomings else None

    def _request(self, step: rulebooks.Step) -> transports.Request:
        target = values.fill(step.target, self._known)
        query = values.fill(dict(step.query), self._known)
        method = step.verb
        if step.verb == "WATCH":
            method, query = "GET", {"watch": True, "timeoutSeconds": WATCH_S, **query}
        return transports.Request(
            method=method,
            path=api_requests.with_query(api_requests.path(target, self._namespace), query),
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
        actual = [_event_text(event) for event in events]
        shortcomings = [] if actual == expected else [f"expected {expected}, got {actual}"]
        shortcomings += find_shortcomings(
            dataclasses.replace(step, gives=_OK), _OK, {"events": events}, self._known
        )
        if step.label:
            self._known[step.label] = {"events": events}
        request = transports.Request(method="EVENTS", path=step.target)
        return self._failure(request, shortcomings, events) if shortcomings else None

    def _failure(
        self, request: transports.Request, shortcomings: Sequence[str], answer: Any
    ) -> Failure:
        return Failure(
            request=f"{request.method} {request.path}",
            body=(request.body or b"").decode(),
            shortcomings=tuple(shortcomings),
            answer=json.dumps(answer),
        )

    def _close(self) -> None:
        for label, watch in self._watches.items():
            watch.close()
            # Reading to the end frees the connection.
            collections.deque(self._lines[label], maxlen=0)


def _event_text(event: Any) -> str:
    """Return `ADDED name` for an event, or its type alone if the object has no name."""
    name = values.at(event, "object.metadata.name")
    kind = str(values.at(event, "type"))
    return kind if name in (values.ABSENT, "") else f"{kind} {name}"


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return data.decode(errors="replace")
