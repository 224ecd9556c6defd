"""An API server inside the test's own process: the real store and the real request handling,
without sockets.

Answers can be lost or refused, something can be made to happen just before a request, and watches
can be held back.
"""

import collections
import dataclasses
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

from harness.apiserver.endpoints import handlers, request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.server import http_messages
from harness.apiserver.storage import watch_cache
from harness.client import apis, transports

Object = dict[str, Any]
NOW = "2026-01-31T23:59:59Z"


@dataclasses.dataclass
class Disturbance:
    """Faults of some requests."""

    method: str
    part: str
    """Of the path."""
    times: int
    before: Callable[[], object] | None = None
    refusal: int | None = None
    """The status to answer with, instead of doing it."""
    loses_answer: bool = False

    def concerns(self, request: transports.Request) -> bool:
        return self.times > 0 and request.method == self.method and self.part in request.path


class LocalServer:
    """A transport with the server at its other end."""

    def __init__(self, seed: int = 1) -> None:
        self.store = stores.Store(now=lambda: NOW, stream=random.Random(seed))
        self._handler = handlers.Handler(self.store, now=lambda: NOW)
        self._guard = threading.RLock()
        self._disturbances: list[Disturbance] = []
        self._watches: list[_LocalWatch] = []
        self._held: set[str] = set()
        self.requests: list[str] = []
        """`METHOD path` of everything that was sent."""
        self.store.listen(self._on_commit)

    # ---------------------------------------------------------------- faults

    def lose_answer(self, method: str, part: str, *, times: int = 1) -> None:
        self._disturbances.append(Disturbance(method, part, times, loses_answer=True))

    def refuse(self, method: str, part: str, *, status: int, times: int = 1) -> None:
        self._disturbances.append(Disturbance(method, part, times, refusal=status))

    def before(
        self, method: str, part: str, action: Callable[[], object], *, times: int = 1
    ) -> None:
        """Have something happen just before the next such requests are handled."""
        self._disturbances.append(Disturbance(method, part, times, before=action))

    def hold_watches(self, plural: str) -> None:
        with self._guard:
            self._held.add(plural)

    def release_watches(self, plural: str) -> None:
        with self._guard:
            self._held.discard(plural)
            for watch in self._watches:
                if watch.selection.resource.plural == plural:
                    watch.flush()

    def count(self, text: str) -> int:
        return sum(text in request for request in self.requests)

    # --------------------------------------------------------------------- the transport

    def send(self, request: transports.Request) -> transports.Response:
        with self._guard:
            self.requests.append(f"{request.method} {request.path}")
            disturbance = self._next_disturbance(request)
            if disturbance is not None and disturbance.before is not None:
                disturbance.before()
            if disturbance is not None and disturbance.refusal is not None:
                return transports.Response(disturbance.refusal, b"no")
            answer = self._answer(request)
            self.store.collect_garbage()
        if disturbance is not None and disturbance.loses_answer:
            raise transports.TransportError("the answer was lost", sent=True)
        return transports.Response(answer.status, answer.body)

    def watch(self, request: transports.Request) -> transports.Watch:
        asked = _request(request)
        target = asked.target
        assert target is not None
        assert asked.verb == "watch"
        selection = asked.selection(target)
        with self._guard:
            watch = _LocalWatch(selection, lambda: selection.resource.plural in self._held)
            version = int(asked.query["resourceVersion"])
            watch.deliver(self.store.commits_after(selection.resource, version))
            self._watches.append(watch)
        return watch

    def close(self) -> None:
        for watch in self._watches:
            watch.close()

    def _next_disturbance(self, request: transports.Request) -> Disturbance | None:
        for disturbance in self._disturbances:
            if disturbance.concerns(request):
                disturbance.times -= 1
                return disturbance
        return None

    def _answer(self, request: transports.Request) -> responses.Response:
        try:
            return self._handler.answer(_request(request))
        except status_errors.StatusError as error:
            return responses.failure(error)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        for watch in self._watches:
            if resources.table_of(watch.selection.resource) is commit.resource:
                watch.deliver([commit])


class _LocalWatch:
    """A watch whose lines wait in a deque."""

    status = 200

    def __init__(self, selection: watch_cache.Selection, is_held: Callable[[], bool]) -> None:
        self.selection, self._is_held = selection, is_held
        self._changed = threading.Condition()
        self._withheld: list[bytes] = []
        self._lines: collections.deque[bytes] = collections.deque()
        self._closed = False

    def deliver(self, commits: list[watch_cache.Commit]) -> None:
        seen = self.selection.sees_all(commits)
        self._withheld += [http_messages.event_line(kind, stored.data) for kind, stored in seen]
        if not self._is_held():
            self.flush()

    def flush(self) -> None:
        with self._changed:
            self._lines.extend(self._withheld)
            self._withheld.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with self._changed:
                while not self._lines:
                    if self._closed:
                        return
                    self._changed.wait()
                line = self._lines.popleft()
            yield line

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _request(request: transports.Request) -> request_info.Request:
    return request_info.of_url(
        request.path,
        method=request.method,
        content_type=request.content_type,
        body=request.body,
    )


def put(server: LocalServer, resource: apis.Resource, obj: Object) -> Object:
    """Create an object with its status, as another client would; return the stored object."""
    api = apis.Api(server)
    namespace = obj["metadata"].get("namespace")
    created = api.create(resource, obj, namespace=namespace)
    if "status" not in obj:
        return created
    return api.update_status(resource, {**created, "status": obj["status"]})
