"""The API server inside the process: real store and request handling, no HTTP.

Every request and every watch event is a choice point.
"""

import collections
import contextlib
import enum
from collections.abc import Callable, Iterator

from harness import concurrency
from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import handlers, request_decoding, request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.server import http_framing
from harness.apiserver.storage import watch_cache
from harness.client import apis, transports
from harness.explore.runtime import scheduler, tasks
from harness.explore.worlds import world_fixtures


class Fate(enum.Enum):
    """The fate of a write and of its answer."""

    ANSWERED = "answered"
    ANSWER_LOST = "answer.lost"
    """It is committed, but its answer does not arrive."""
    REQUEST_LOST = "request.lost"
    """It never reaches the server."""
    REQUEST_LATE = "request.late"
    """It reaches the server some time after its sender has stopped waiting."""


class LocalServer:
    """A transport that calls the store directly."""

    def __init__(
        self,
        store: stores.Store,
        runtime: scheduler.ControlledRuntime,
        *,
        losses_max: int = 0,
        breaks_max: int = 0,
        conflicts_max: int = 0,
    ) -> None:
        """Create the transport. The strategy chooses when faults happen.

        `losses_max`: writes that may get no answer (see `Fate`); `breaks_max`: watches that may
        break; `conflicts_max`: objects that another client may change just before they are
        replaced.

        A broken watch is resumed, or finds its history compacted: then it gets 410 and lists again.
        """
        self._store, self._runtime = store, runtime
        self._handler = handlers.Handler(store, now=lambda: world_fixtures.NOW)
        self._watches: dict[object, list[LocalWatch]] = collections.defaultdict(list)
        self._losses_left, self._breaks_left = losses_max, breaks_max
        self._conflicts_left = conflicts_max
        self._objects = tasks.Shared(runtime.first_past())
        self._faults = tasks.Shared(runtime.first_past())
        store.listen(self._on_commit)

    def send(self, request: transports.Request) -> transports.Response:
        """Commit the request and return its response.

        Other tasks may run between sending and commit, and after the response at the task's next
        operation.
        """
        # The tasks that a write wakes are not known before its commit.
        self._runtime.point(*((self._objects,) if request.method == "GET" else ()))
        if request.method == "PUT" and self._conflicts_left and self._decide(2):
            self._conflicts_left -= 1
            self._touch_object(request)
        fate = self._fate(request)
        if fate in (Fate.ANSWERED, Fate.ANSWER_LOST):
            answer = self._commit(request)
        if fate is Fate.ANSWERED:
            return transports.Response(answer.status, answer.body)
        concurrency.step(f"api.{fate.value}", method=request.method, path=request.path)
        if fate is Fate.REQUEST_LATE:
            concurrency.spawn("late-request", lambda: self._commit_late(request))
        raise transports.TransportError(f"{request.path}: no answer came", sent=True)

    def _fate(self, request: transports.Request) -> "Fate":
        if request.method == "GET" or not self._losses_left:
            return Fate.ANSWERED
        fate = tuple(Fate)[self._decide(len(Fate))]
        self._losses_left -= fate is not Fate.ANSWERED
        return fate

    def _commit(self, request: transports.Request) -> responses.Response:
        with self._runtime.atomically():
            self._note(request)
            answer = self._answer(request)
            self._store.collect_garbage()
        return answer

    def _commit_late(self, request: transports.Request) -> None:
        """Commit a request whose sender no longer waits; its task runs whenever it is chosen."""
        answer = self._commit(request)
        concurrency.step(
            "api.request.arrived",
            method=request.method,
            path=request.path,
            status=answer.status,
        )

    def _touch_object(self, request: transports.Request) -> None:
        """Annotate the object as another client, which may happen at any time."""
        target = request_info.parse_target(request.path.partition("?")[0])
        if target is None:
            return
        concurrency.step("api.object.touched", path=request.path)
        self._runtime.touch(self._objects)
        with self._runtime.atomically(), contextlib.suppress(status_errors.StatusError):
            self._store.patch(target.resource, target.namespace, target.name, self._annotated)

    def _annotated(self, document: apis.Object) -> apis.Object:
        meta = document["metadata"]
        meta["annotations"] = {**meta.get("annotations", {}), "touched": str(self._conflicts_left)}
        return document

    def _note(self, request: transports.Request) -> None:
        """Record the request's effect; all writes are ordered by the one resourceVersion."""
        if request.method == "GET":
            self._runtime.observe(self._objects)
        else:
            self._runtime.touch(self._objects)

    def _decide(self, options: int) -> int:
        self._runtime.touch(self._faults)
        return self._runtime.decide(options)

    def watch(self, request: transports.Request) -> transports.Watch:
        """Return a watch whose events are delivered when the watcher is chosen."""
        self._runtime.point(self._objects)
        self._runtime.touch(self._objects)
        asked = _understood(request)
        target = request_info.watched(asked)
        if target is None:
            raise ValueError(f"expected a watch request, got {request.path}")
        selection = asked.selection(target)
        watch = LocalWatch(selection, self._breaks)
        version = asked.integer("resourceVersion") or 0
        with self._runtime.atomically():  # a commit in between would be missed
            self._begin(watch, version)
        return watch

    def _begin(self, watch: "LocalWatch", version: int) -> None:
        """Send the commits after the version, then every further one."""
        resource = watch.selection.resource
        try:
            for commit in self._store.commits_after(resource, version):
                watch.offer(commit)
        except status_errors.StatusError as error:
            watch.end_with(error)
        else:
            self._watches[resources.table_of(resource)].append(watch)

    def _breaks(self, watch: "LocalWatch") -> bool:
        """Return whether the watch breaks now."""
        if not self._breaks_left:
            return False
        choice = self._decide(3)
        if choice:
            self._breaks_left -= 1
            resource = watch.selection.resource
            self._watches[resources.table_of(resource)].remove(watch)
            concurrency.step("api.watch.broken", resource=resource.plural, compacted=choice == 2)
            if choice == 2:
                self._store.compact(resource)
        return bool(choice)

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _answer(self, request: transports.Request) -> responses.Response:
        try:
            asked = _understood(request)
            target = request_info.require_target(asked.path)
            return self._handler.answer(request_decoding.decode(asked, target))
        except status_errors.StatusError as error:
            return responses.failure(error)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        for watch in self._watches.get(commit.resource, ()):
            watch.offer(commit)


class LocalWatch:
    """A watch; taking its next event is a choice point."""

    status = 200

    def __init__(
        self, selection: watch_cache.Selection, breaks: Callable[["LocalWatch"], bool]
    ) -> None:
        self.selection, self._breaks = selection, breaks
        self._lines: concurrency.Queue[bytes] = concurrency.Queue(
            f"watch {selection.resource.plural}"
        )

    def offer(self, commit: watch_cache.Commit) -> None:
        """Queue a commit's event, if the watch selects the object."""
        seen = self.selection.sees(commit)
        if seen is not None:
            kind, stored = seen
            self._lines.put(http_framing.event_line(kind, stored.data))

    def end_with(self, error: status_errors.StatusError) -> None:
        """Send an ERROR event and end the watch."""
        status = json_codec.encode(error.to_status())
        self._lines.put(http_framing.event_line("ERROR", status))
        self._lines.close()
        self._breaks = lambda _: False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            try:
                line = self._lines.get()
            except concurrency.Closed:
                return
            if self._breaks(self):
                raise transports.TransportError("the watch broke off", sent=True)
            yield line

    def close(self) -> None:
        """End the watch."""
        self._lines.close()


def _understood(request: transports.Request) -> request_info.Request:
    return request_info.of_target(
        request.path,
        method=request.method,
        content_type=request.content_type,
        body=request.body,
    )
