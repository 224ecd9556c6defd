"""A local copy of a collection, kept up to date: list, watch, resume, and list again after 410.

Each change is delivered once and in order, on the informer's thread. After a gap (410 Gone) a new
list is compared with the copy; objects that are missing are delivered as deletions of their last
known state, like `DeletedFinalStateUnknown` in client-go. A list is not in the order of versions: a
handler that goes by the highest version that it has seen needs to know where a list begins and
ends.
"""

from collections.abc import Callable, Iterable

import msgspec

from harness import concurrency, errors
from harness.client import apis, backoffs, reflectors, transports
from harness.model.objects import Object

REFUSALS_MAX = 2
"""Consecutive 401 or 403 responses after which `wait_synced` fails.

More than one, because an exec plugin logs in again after the first.
"""
REFUSED_MIN_S = 3.0
"""Seconds for which an authorizer must refuse: one that has just started knows no roles."""
_REMEDIES = {
    401: "the API server does not accept these credentials, which may have expired: log in again, or name another kubeconfig with --kubeconfig",
    403: "these credentials do not allow that: with --kubeconfig name a kubeconfig whose user may list, watch and change {plural}",
}


class EventHandler:
    """Receives all changes, in order, on the informer's thread."""

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Handle a new object; `initial` if it was in the first list."""
        raise NotImplementedError

    def on_update(self, old: Object, new: Object) -> None:
        raise NotImplementedError

    def on_delete(self, last: Object) -> None:
        """Handle the deletion of an object; `last` is its last known state."""
        raise NotImplementedError

    def on_list_begin(self) -> None:
        """Handle that the next events are those of a list, in any order."""

    def on_list_end(self, version: str) -> None:
        """Handle that all events up to this resource version, the list's, have come."""


class StateHandler(EventHandler):
    """Base of event handlers to which a new object and a changed one are the same: a state."""

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        self.on_state(obj)

    def on_update(self, old: Object, new: Object) -> None:
        del old
        self.on_state(new)

    def on_state(self, obj: Object) -> None:
        raise NotImplementedError


class Calling(StateHandler):
    """An event handler that calls functions."""

    def __init__(
        self,
        on_state: Callable[[Object], None],
        on_delete: Callable[[Object], None] = lambda _: None,
    ) -> None:
        self.on_state, self.on_delete = on_state, on_delete  # type: ignore[assignment, method-assign]


class _Event(msgspec.Struct):
    type: str
    object: Object


_events = msgspec.json.Decoder(_Event)


def key_of(obj: Object) -> str:
    """Return the key of an object: `namespace/name`, or the name if it has no namespace."""
    meta = obj["metadata"]
    namespace = meta.get("namespace")
    return f"{namespace}/{meta['name']}" if namespace else str(meta["name"])


class Informer(reflectors.Reflector):
    """Follows one collection. `namespace` None: all namespaces."""

    def __init__(
        self,
        api: apis.Api,
        resource: apis.Resource,
        *,
        name: str,
        handlers: Iterable[EventHandler],
        namespace: str | None = None,
        label_selector: str | None = None,
        lists_cached: bool = False,
        trims: bool = False,
    ) -> None:
        """`lists_cached`: the first list may be an older state, from a watch cache.

        `trims`: leave `metadata.managedFields` out of every object, which halves its memory.
        """
        super().__init__(
            api, resource, name=name, namespace=namespace, label_selector=label_selector
        )
        self._lists_cached, self._trims = lists_cached, trims
        self._handlers = tuple(handlers)
        self._objects: dict[str, Object] = {}
        self._guard = concurrency.lock(f"{name}.objects")
        self._synced = concurrency.Event(f"{name}.synced")
        self._problem = (
            "no answer"  # text: an exception would keep a connection alive by its traceback
        )
        self._refusals, self._refused_since_s = 0, 0.0
        self._refusal: errors.KubeconfigError | None = None

    def wait_synced(self, *, timeout_s: float) -> None:
        """Wait until the first list has been delivered.

        Raises KubeconfigError if the API server rejects the credentials, and ClusterError if there
        is no list within the timeout.
        """
        synced = self._synced.wait(timeout_s)
        if self._refusal is not None:
            raise self._refusal
        if not synced:
            raise errors.ClusterError(
                f"expected a first list of {self._resource.plural} within {timeout_s:g} s, got none "
                f"({self._problem}). Is the API server up, and do these credentials allow list?"
            )

    def get(self, key: str) -> Object | None:
        with self._guard:
            return self._objects.get(key)

    def objects(self) -> list[Object]:
        with self._guard:
            return list(self._objects.values())

    # -------------------------------------------------------------- following

    def _note_gap(self, error: apis.ApiError) -> None:
        del error  # the missed changes are found by comparison
        concurrency.step("informer.gap", informer=self._name)

    def _note_failure(self, error: transports.TransportError | apis.ApiError) -> None:
        """Keep the problem for `wait_synced`; end its wait after REFUSALS_MAX rejections.

        Those of an authorizer must have lasted for REFUSED_MIN_S, too.
        """
        self._problem = str(error)
        if self._version or not (isinstance(error, apis.ApiError) and error.code in _REMEDIES):
            self._refusals = 0
            return
        now_s = concurrency.monotonic_s()
        self._refused_since_s = self._refused_since_s if self._refusals else now_s
        self._refusals += 1
        least_s = REFUSED_MIN_S if backoffs.is_transient(error) else 0.0
        if self._refusals >= REFUSALS_MAX and now_s - self._refused_since_s >= least_s:
            plural = self._resource.plural
            self._refusal = errors.KubeconfigError(
                f"expected to list {plural}, got {error}; {_REMEDIES[error.code].format(plural=plural)}"
            )
            self._synced.set()

    def _list(self) -> None:
        listing = self._api.list(
            self._resource,
            namespace=self._namespace,
            label_selector=self._label_selector,
            is_cached=self._lists_cached and not self._synced.is_set(),
        )
        concurrency.step("informer.listed", informer=self._name, count=len(listing.items))
        for handler in self._handlers:
            handler.on_list_begin()
        for obj in listing.items if self._trims else ():
            obj["metadata"].pop("managedFields", None)
        present = {key_of(obj): obj for obj in listing.items}
        for key in [key for key in self._objects if key not in present]:
            self._delete(key, self._objects[key])
        for key, obj in present.items():
            self._put(key, obj)
        for handler in self._handlers:
            handler.on_list_end(listing.resource_version)
        self._version = listing.resource_version
        self._synced.set()

    def _receive(self, line: bytes) -> None:
        event = _events.decode(line)
        obj = event.object
        if event.type == "ERROR":
            raise apis.error_of(obj, 500)
        if self._trims:
            obj["metadata"].pop("managedFields", None)
        version = obj["metadata"]["resourceVersion"]
        if event.type != "BOOKMARK":
            key = key_of(obj)
            concurrency.step(
                "informer.event.received", informer=self._name, object=key, version=version
            )
            if event.type == "DELETED":
                self._delete(key, obj)
            else:
                self._put(key, obj)
        self._version = version

    def _put(self, key: str, obj: Object) -> None:
        with self._guard:
            old = self._objects.get(key)
            self._objects[key] = obj
        if old is None:
            self._add(obj, initial=not self._synced.is_set())
        elif (
            old["metadata"]["uid"] != obj["metadata"]["uid"]
        ):  # a new object of the same name; its deletion was not seen
            for handler in self._handlers:
                handler.on_delete(old)
            self._add(obj, initial=False)
        elif old["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
            for handler in self._handlers:
                handler.on_update(old, obj)

    def _add(self, obj: Object, *, initial: bool) -> None:
        for handler in self._handlers:
            handler.on_add(obj, initial=initial)

    def _delete(self, key: str, last: Object) -> None:
        with self._guard:
            known = self._objects.pop(key, None)
        if known is not None:
            for handler in self._handlers:
                handler.on_delete(last)
