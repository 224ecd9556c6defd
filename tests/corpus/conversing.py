"""A case: its requests are sent, its watches collected, and every answer is brought into the normal
form.
"""

import contextlib
import datetime
import http.client
import json
import random
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness import concurrency
from tests.corpus import normalising, referring, wires

Case = Mapping[str, Any]
Step = Mapping[str, Any]
COMPARED_HEADERS = ("content-type", "warning", "retry-after")
QUIET_S = 0.3
"""A watch that was silent for so long after its last expected event has said everything."""
COLLECT_TIMEOUT_S = 15.0


def converse(wire: wires.Wire, case: Case) -> list[Any]:
    unique = "u" + "".join(random.choices(string.ascii_lowercase + string.digits, k=6)) + "z"
    conversation = _Conversation(wire, case["steps"], unique)
    if case.get("namespace", "/namespaces/{{u}}/" in json.dumps(case["steps"])):
        conversation.make_namespace()
    try:
        return [conversation.take(step) for step in case["steps"]]
    finally:
        conversation.close()


class _Conversation:
    def __init__(self, wire: wires.Wire, steps: Sequence[Step], unique: str) -> None:
        self._wire = wire
        self._references = referring.References(unique)
        self._normaliser = normalising.Normaliser(steps, unique)
        self._watches: dict[str, wires.Watch] = {}
        self._number = 0

    def make_namespace(self) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self._references.unique},
        }
        request = {"method": "POST", "path": "/api/v1/namespaces", "body": body}
        with contextlib.closing(self._wire.send(request)) as answer:
            answer.read()

    def take(self, step: Step) -> Any:
        self._number += 1
        concurrency.sleep(step.get("pause", 0))
        return self._collect(step) if "collect" in step else self._ask(step)

    def close(self) -> None:
        for watch in self._watches.values():
            watch.close()

    def _ask(self, step: Step) -> Any:
        request = self._references.fill(step["request"])
        answer = self._wire.send(request)
        response = answer.response
        now = _date(response)
        told = {"status": response.status, "headers": self._headers(response, now)}
        if "watch" in step and response.status == 200:
            self._watches[step["watch"]] = wires.Watch(answer)
            self._references.bodies[self._number] = {}
            return told
        with contextlib.closing(answer):
            body = _parse(answer.read(), response.getheader("Content-Type", ""))
        self._references.bodies[self._number] = body
        if step.get("compareBody") is not False:
            form = step.get("listVersion", _list_version_form(request.get("query") or {}))
            told["body"] = self._normaliser.body(_compared(body, step), now, form)
        return told

    def _headers(
        self, response: http.client.HTTPResponse, now: datetime.datetime
    ) -> dict[str, Any]:
        headers: dict[str, Any] = {}
        for name in COMPARED_HEADERS:
            values = [self._normaliser.header(v, now) for v in response.headers.get_all(name) or ()]
            if values:
                headers[name] = values if name == "warning" else ", ".join(values)
        return headers

    def _collect(self, step: Step) -> Any:
        watch = self._watches.get(step["collect"])
        if watch is None:
            return {"events": None, "closed": None}
        events, closed = watch.collect(
            len(step["expect"]["events"]),
            timeout_s=step.get("timeout", COLLECT_TIMEOUT_S),
            until_closed=step.get("untilClosed", False),
            quiet_s=max(QUIET_S, step.get("quiet", 0)),
        )
        self._references.bodies[self._number] = {"events": events}
        now = datetime.datetime.now(datetime.UTC)
        compared = _drop(events, step.get("ignore", ()))
        return {
            "events": [self._normaliser.body(event, now) for event in compared],
            "closed": closed,
        }


def _date(response: http.client.HTTPResponse) -> datetime.datetime:
    text = response.getheader("Date")
    if not text:
        return datetime.datetime.now(datetime.UTC)
    moment = datetime.datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT")  # noqa: DTZ007
    return moment.replace(tzinfo=datetime.UTC)


def _list_version_form(query: Mapping[str, Any]) -> str:
    if query.get("resourceVersionMatch") == "Exact":
        return "object"
    return "page" if "limit" in query or "continue" in query else "any"


def _parse(raw: bytes, content_type: str) -> Any:
    if not raw:
        return None
    if "json" in content_type:
        try:
            return json.loads(raw)
        except ValueError:
            pass
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"$bytes": len(raw)}


def _compared(body: Any, step: Step) -> Any:
    if "select" in step and isinstance(body, dict):
        body = _project(body, step["select"])
    return _drop(body, step.get("ignore", ()))


def _project(body: Mapping[str, Any], select: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep the named items of a list in the body; for documents that describe the whole server."""
    target = body.get(select["list"])
    if not isinstance(target, list):
        return body
    order = select["in"]
    kept = [item for item in target if _at(item, select["by"]) in order]
    return {**body, select["list"]: sorted(kept, key=lambda i: order.index(_at(i, select["by"])))}


def _at(item: Any, path: str) -> Any:
    for part in path.split("."):
        item = item.get(part) if isinstance(item, dict) else item
    return item


def _drop(value: Any, keys: Iterable[str]) -> Any:
    if isinstance(value, dict):
        return {key: _drop(item, keys) for key, item in value.items() if key not in keys}
    if isinstance(value, list):
        return [_drop(item, keys) for item in value]
    return value
