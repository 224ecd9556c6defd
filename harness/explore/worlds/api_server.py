"""The API server inside the process: real store and request handling, no HTTP.

Every request and every watch event is a choice point.
"""

import collections
import contextlib
import zlib
from collections.abc import Collection, Iterable

from harness import concurrency
from harness.apiserver.endpoints import handlers, request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import transports
from harness.explore.runtime import scheduler, tasks
from harness.explore.worlds import local_watches, world_fixtures
from harness.model.objects import Object

_RELATED = ""


class ServerObjects:
    """The objects of one API server, by resource."""

    def __init__(
        self, runtime: scheduler.ControlledRuntime, related: Collection[str] | None
    ) -> None:
        """`related`: plural names of resources; between the commits of two of them the order
        matters to the world or to its oracles. None: of all resources.
        """
        self._runtime, self._related = runtime, related
        self._all = tasks.Shared(runtime.first_past())
        self._by_resource: dict[str, tasks.Shared] = {}

    def read(self, plural: str) -> None:
        self._runtime.observe(self._all)
        self._runtime.observe(self._of(plural))

    def change_by(self, commit: watch_cache.Commit) -> None:
        if commit.type == "MODIFIED":
            self.change(commit.resource.plural)
        else:
            self.change_all()

    def change(self, plural: str) -> None:
        """Record a change of the objects of one resource, or of their watches."""
        self._runtime.observe(self._all)
        self._runtime.touch(self._of(plural))

    def change_all(self) -> None:
        """Record a change on which every request depends."""
        self._runtime.touch(self._all)

    def _of(self, plural: str) -> tasks.Shared:
        key = _RELATED if self._related is None or plural in self._related else plural
        if key not in self._by_resource:
            # crc32 is the same in every process
            past = hash((self._all.identity, zlib.crc32(key.encode())))
            self._by_resource[key] = tasks.Shared(past)
        return self._by_resource[key]


LOST_RESPONSE, LOST_REQUEST, LATE_REQUEST = "lose-response", "lose-request", "delay-request"
"""Faults of a write: it is committed without an answer, never arrives, or arrives some time after
its sender has stopped waiting."""
LOSSES = (LOST_RESPONSE, LOST_REQUEST, LATE_REQUEST)
DROPPED_WATCH, EXPIRED_WATCH = "drop-watch", "expire-watch"
EXPIRED_CLAIM_WATCH = "expire-claim-watch"
"""The same as EXPIRED_WATCH, of ResourceClaims only."""
TOUCHED_OBJECT, TOUCHED_OTHER = "touch-objects", "touch-others"
"""Changes by another client, just before an object is replaced: of it, or of the last of its kind,
which should be one that no one else writes."""
OF_BINDINGS = "of-bindings"
"""Not a fault, but that those of writes happen to bindings, too: without an answer to one, or with
a late one, H10, H11 and H19 show."""
OVERLOOKED = "overlook-finalizers"
"""A deletion is decided from what it read first: a finalizer that is added later is not seen."""
_STEPS = {
    LOST_RESPONSE: "api.answer.lost",
    LOST_REQUEST: "api.request.lost",
    LATE_REQUEST: "api.request.late",
}
"""Named step of each fault of a write."""


class LocalServer:
    """A transport that calls the store directly."""

    def __init__(
        self,
        store: stores.Store,
        runtime: scheduler.ControlledRuntime,
        *,
        faults: Collection[str] = (),
        faults_max: int = 0,
        answers_first: bool = False,
        has_prompt_bindings: bool = False,
        related: Collection[str] | None = None,
    ) -> None:
        """Create the transport. The strategy chooses when faults happen.

        `faults`: the kinds, and perhaps OF_BINDINGS; `faults_max`: how many may happen. A dropped
        watch is resumed; an expired one gets 410, so that its client lists again.
        `answers_first`: watches deliver a write only after its sender has sent its next request, or
        when all is at rest (see `deliver_all`). `has_prompt_bindings`: a binding is committed when
        it is sent, before another task runs. `related`: see `ServerObjects`.
        """
        self._has_prompt_bindings = has_prompt_bindings
        self._kinds = faults
        self._store, self._runtime = store, runtime
        self._handler = handlers.Handler(store, now=lambda: world_fixtures.NOW)
        self._overlooking = handlers.Handler(
            store, now=lambda: world_fixtures.NOW, overlooks_finalizers=True
        )
        self._watches: dict[object, list[local_watches.LocalWatch]] = collections.defaultdict(list)
        self._faults_left = faults_max
        self._is_writing = False
        """True while a request of a client is committed."""
        self._undelivered = local_watches.UndeliveredCommits() if answers_first else None
        self._objects = ServerObjects(runtime, None if answers_first else related)
        self._faults = tasks.Shared(runtime.first_past())
        store.listen(self._on_commit)

    def send(self, request: transports.Request) -> transports.Response:
        """Commit the request and return its response.

        Other tasks may run between sending and commit, unless it is prompt, and after the response
        at the task's next operation.
        """
        if self._undelivered is not None:
            self._objects.change_all()
            with self._runtime.atomically():  # or a later commit could be delivered earlier
                self._offer(self._undelivered.after_next_request(self._runtime.current))
        is_binding = request.path.endswith("/binding")
        if not (is_binding and self._has_prompt_bindings):
            self._runtime.point()
        if request.method == "PUT" and (touched := self._fault(TOUCHED_OBJECT, TOUCHED_OTHER)):
            self._touch_object(request, is_other=touched == TOUCHED_OTHER)
        if request.method == "DELETE" and self._fault(OVERLOOKED):
            answer = self._delete_what_was_read(request)
            return transports.Response(answer.status, answer.body)
        is_safe = request.method == "GET" or (is_binding and OF_BINDINGS not in self._kinds)
        fault = None if is_safe else self._fault(*LOSSES)
        if fault in (None, LOST_RESPONSE):
            answer = self._commit(request)
        if fault is None:
            return transports.Response(answer.status, answer.body)
        concurrency.step(_STEPS[fault], method=request.method, path=request.path)
        if fault == LATE_REQUEST:
            concurrency.spawn("late-request", lambda: self._commit_late(request))
        message = f"{request.method} {request.path}: no answer came"
        raise transports.TransportError(message, sent=True)

    def _fault(self, *of: str) -> str | None:
        """Return the fault of these kinds that the strategy chooses to happen now; None: none."""
        kinds = [kind for kind in of if kind in self._kinds]
        if not kinds:
            return None
        self._runtime.observe(self._faults)
        choice = self._runtime.decide(1 + len(kinds)) if self._faults_left else 0
        if not choice:
            return None
        self._runtime.touch(self._faults)
        self._faults_left -= 1
        return kinds[choice - 1]

    def _delete_what_was_read(self, request: transports.Request) -> responses.Response:
        target = _understood(request).target
        if target is None:
            raise ValueError(f"expected the path of an object, got {request.path}")
        with self._runtime.atomically():
            self._objects.read(target.resource.plural)
            read = self._metadata(target)
        if not read or read.get("finalizers"):
            return self._commit(request)
        concurrency.step("api.deletion.decided", path=request.path)
        self._runtime.point()
        is_same = self._metadata(target).get("uid") == read["uid"]
        return self._commit(request, self._overlooking if is_same else None)

    def _metadata(self, target: request_info.Target) -> Object:
        """Return the metadata of an object as it is now; empty if it does not exist."""
        with contextlib.suppress(status_errors.StatusError):
            stored = self._store.get(target.resource, target.namespace, target.name)
            metadata: Object = stored.document()["metadata"]
            return metadata
        return {}

    def _commit(
        self, request: transports.Request, handler: handlers.Handler | None = None
    ) -> responses.Response:
        with self._runtime.atomically():
            self._use_objects(request)
            self._is_writing = True
            answer = self._answer(request, handler or self._handler)
            self._is_writing = False
            self._store.collect_garbage()
        return answer

    def _use_objects(self, request: transports.Request) -> None:
        target = _understood(request).target
        is_creation = request.method == "POST" and target is not None and not target.subresource
        if target is None or is_creation or request.method == "DELETE":
            self._objects.change_all()
        else:
            self._objects.read(target.resource.plural)

    def _commit_late(self, request: transports.Request) -> None:
        """Commit a request whose sender no longer waits; its task runs whenever it is chosen."""
        answer = self._commit(request)
        concurrency.step(
            "api.request.arrived",
            method=request.method,
            path=request.path,
            status=answer.status,
        )

    def _touch_object(self, request: transports.Request, *, is_other: bool) -> None:
        """Annotate an object as another client, which may happen at any time."""
        target = _understood(request).target
        if target is None:
            return
        name = self._last_of(target.resource, target.namespace) if is_other else target.name
        concurrency.step("api.object.touched", path=request.path, object=name)
        self._use_objects(request)
        with self._runtime.atomically(), contextlib.suppress(status_errors.StatusError):
            self._store.patch(target.resource, target.namespace, name, self._annotated)

    def _last_of(self, resource: resources.ResourceType, namespace: str) -> str:
        selection = watch_cache.Selection(resource=resource, namespace=namespace)
        return self._store.select(selection)[-1].name

    def _annotated(self, document: Object) -> Object:
        meta = document["metadata"]
        meta["annotations"] = {**meta.get("annotations", {}), "touched": str(self._faults_left)}
        return document

    def watch(self, request: transports.Request) -> transports.Watch:
        """Return a watch, whose events are delivered when the watcher is chosen."""
        self._runtime.point()
        asked = _understood(request)
        target = asked.target
        if target is None or asked.verb != "watch":
            raise ValueError(f"expected a watch request, got {request.path}")
        selection = asked.selection(target)
        self._objects.change(selection.resource.plural)
        version = asked.version
        watch = local_watches.LocalWatch(selection, self._runtime, self._breaks, version=version)
        with self._runtime.atomically():  # a commit in between would be missed
            self._begin(watch, version)
        return watch

    def _begin(self, watch: local_watches.LocalWatch, version: int) -> None:
        """Send the commits after the version, then every further one."""
        resource = watch.selection.resource
        try:
            for commit in self._store.commits_after(resource, version):
                watch.offer(commit)
        except status_errors.StatusError as error:
            watch.end_with(error)
        else:
            self._watches[resources.table_of(resource)].append(watch)

    def _breaks(self, watch: local_watches.LocalWatch) -> bool:
        resource = watch.selection.resource
        is_of_claims = resource is resources.CLAIMS and EXPIRED_CLAIM_WATCH in self._kinds
        kinds = (EXPIRED_CLAIM_WATCH,) if is_of_claims else (DROPPED_WATCH, EXPIRED_WATCH)
        fault = self._fault(*kinds)
        if fault is None:
            return False
        self._objects.change(resource.plural)  # the next commit is not delivered
        is_expired = fault != DROPPED_WATCH
        self._watches[resources.table_of(resource)].remove(watch)
        concurrency.step("api.watch.broken", resource=resource.plural, compacted=is_expired)
        if is_expired:
            self._store.compact(resource)
        return True

    def close(self) -> None:
        """Do nothing: there is no connection."""

    @staticmethod
    def _answer(request: transports.Request, handler: handlers.Handler) -> responses.Response:
        try:
            return handler.answer(_understood(request))
        except status_errors.StatusError as error:
            return responses.failure(error)

    def deliver_all(self) -> bool:
        """Have watches deliver every write; return False if they have done so already."""
        waiting = self._undelivered.all() if self._undelivered is not None else []
        self._offer(waiting)
        return bool(waiting)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        self._objects.change_by(commit)
        if self._undelivered is None:
            self._offer([commit])
        else:
            writer = self._runtime.running if self._is_writing else None
            self._offer(self._undelivered.after_commit(commit, writer))

    def _offer(self, commits: Iterable[watch_cache.Commit]) -> None:
        for commit in commits:
            for watch in self._watches.get(commit.resource, ()):
                watch.offer(commit)


def _understood(request: transports.Request) -> request_info.Request:
    return request_info.of_url(
        request.path,
        method=request.method,
        content_type=request.content_type,
        body=request.body,
    )
