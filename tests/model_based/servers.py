"""The servers that are compared with the reference: the store in this process, and a real one over
HTTP.
"""

import dataclasses
import datetime
import itertools
import json
import random
import urllib.parse
from collections.abc import Mapping
from typing import Any, Protocol

from harness.apiserver.endpoints import handlers, request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import selectors, watch_cache
from harness.client import transports

_EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
WATCH_S = 20
RESOURCES = {"configmaps": resources.CONFIGMAPS, "pods": resources.PODS}
JSON = "application/json"


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """Status and decoded body."""

    status: int
    body: Any


class Watch(Protocol):
    """A watch that is open."""

    def take(self, count: int) -> list[Any]:
        """Return the next `count` events, fewer if no more came."""

    def close(self) -> None:
        """End it."""


class Server(Protocol):
    """A server with a namespace for us."""

    namespace: str

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Answer:
        """The answer to a request."""

    def watch(self, kind: str, version: int, selector: tuple[str, str] | None) -> Watch | Answer:
        """A watch from a version on, or why there is none."""

    def compact(self, kind: str) -> bool:
        """Forget the history of a kind; False when that cannot be asked for."""


class StoreServer:
    """The store, and what turns requests into calls of it."""

    namespace = "default"

    def __init__(self, history_max: int) -> None:
        self._seconds = itertools.count()
        self.store = stores.Store(now=self._now, stream=random.Random(1), watch_history=history_max)
        self._handler = handlers.Handler(self.store, now=self._now)

    def _now(self) -> str:
        """Advance by a second at each call: a change of nothing may not depend on the time."""
        moment = _EPOCH + datetime.timedelta(seconds=next(self._seconds))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Answer:
        request = request_info.Request(
            method=method,
            path=path,
            query=dict(query or {}),
            headers={"content-type": content_type, "user-agent": "stateful"},
            body=b"" if body is None else json.dumps(body).encode(),
        )
        try:
            answer = self._handler.answer(request)
        except status_errors.StatusError as error:
            answer = responses.failure(error)
        return Answer(answer.status, json.loads(answer.body))

    def watch(self, kind: str, version: int, selector: tuple[str, str] | None) -> Watch | Answer:
        watch = _StoreWatch(self.store, RESOURCES[kind], version, selector)
        try:
            watch.peek()
        except status_errors.StatusError as error:
            return Answer(error.code, error.to_status())
        return watch

    def compact(self, kind: str) -> bool:
        self.store.compact(RESOURCES[kind])
        return True


class _StoreWatch:
    """Follows the commits from a version on; what was told once is not asked for again."""

    def __init__(
        self,
        store: stores.Store,
        resource: resources.ResourceType,
        version: int,
        selector: tuple[str, str] | None,
    ) -> None:
        self._store, self._resource, self._version = store, resource, version
        label = selectors.label_selector("=".join(selector)) if selector else None
        self._selection = watch_cache.Selection(resource=resource, namespace="default", label=label)

    def peek(self) -> list[watch_cache.Commit]:
        return self._store.commits_after(self._resource, self._version)

    def take(self, count: int) -> list[Any]:
        del count
        try:
            commits = self.peek()
        except status_errors.StatusError as error:
            return [{"type": "ERROR", "object": error.to_status()}]
        if commits:
            self._version = commits[-1].object.resource_version
        seen = self._selection.sees_all(commits)
        return [{"type": kind, "object": stored.document()} for kind, stored in seen]

    def close(self) -> None:
        return


class HttpServer:
    """A server process."""

    def __init__(self, transport: transports.Transport) -> None:
        self._transport = transport
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "stateful-"}}
        self.namespace = self.ask("POST", "/api/v1/namespaces", body).body["metadata"]["name"]

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Answer:
        text = urllib.parse.urlencode(query or {})
        request = transports.Request(
            method=method,
            path=f"{path}?{text}" if text else path,
            body=None if body is None else json.dumps(body).encode(),
            content_type=content_type,
        )
        response = self._transport.send(request)
        return Answer(response.status, json.loads(response.body))

    def watch(self, kind: str, version: int, selector: tuple[str, str] | None) -> Watch | Answer:
        query = {"watch": "true", "resourceVersion": str(version), "timeoutSeconds": str(WATCH_S)}
        if selector:
            query["labelSelector"] = "=".join(selector)
        path = f"/api/v1/namespaces/{self.namespace}/{kind}?{urllib.parse.urlencode(query)}"
        watch = self._transport.watch(transports.Request(method="GET", path=path))
        if watch.status != 200:
            return Answer(watch.status, json.loads(b"".join(watch)))
        return _HttpWatch(watch)

    def compact(self, kind: str) -> bool:
        del kind
        return False


class _HttpWatch:
    """The stream; whatever the reference does not expect shows up as the next event or in its
    place.
    """

    def __init__(self, watch: transports.Watch) -> None:
        self._watch, self._lines = watch, iter(watch)

    def take(self, count: int) -> list[Any]:
        return [json.loads(line) for line in itertools.islice(self._lines, count)]

    def close(self) -> None:
        self._watch.close()
        for _ in self._lines:  # to its end: that frees the connection
            pass
