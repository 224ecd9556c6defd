"""Records one resource: its lists, and every change that its watch reports.

The watch has its own thread. When the API server was away, the watch is resumed at the version of
the last event, so that nothing is missed; only when that version is too old, a gap is recorded and
the resource is listed again. At the end the stream waits until the watch has delivered everything
in a final list, and records that list too.
"""

import threading
from typing import Literal, TypeAlias, cast

import msgspec

from harness import clocks, concurrency
from harness.client import apis, backoffs, transports
from harness.history import journal_writer, records

CATCH_UP_TIMEOUT_S = 10.0
"""Time limit for a watch to deliver the changes up to the final list."""
_RETRY_S, _RETRY_MAX_S = 0.05, 1.0
"""First and longest wait between two watches while the API server is away, in seconds."""
Kind: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "LISTED", "FINAL"]


class _Meta(msgspec.Struct):
    resourceVersion: str  # noqa: N815 - the API's spelling
    uid: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _List(msgspec.Struct):
    metadata: _Meta
    items: list[msgspec.Raw]


_events = msgspec.json.Decoder(_Event)
_objects = msgspec.json.Decoder(_Object)
_lists = msgspec.json.Decoder(_List)


def _after_catching_up() -> int:
    return clocks.monotonic_ns() + int(CATCH_UP_TIMEOUT_S * 1e9)


class ResourceStream:
    """The list and watch of one resource."""

    def __init__(
        self,
        api: apis.Api,
        resource: apis.Resource,
        writer: journal_writer.Writer,
        guard: threading.Lock,
        *,
        namespace: str | None,
    ) -> None:
        self._api, self._resource, self._namespace = api, resource, namespace
        self._writer, self._guard = writer, guard
        self._version = 0
        self._received = 0
        """Number of lines of the current watch."""
        self._live: dict[str, str] = {}
        """The resourceVersion of each existing object by uid, according to the records."""
        self._gapped = False
        """True from a gap until the next list is recorded."""
        self._ended = False
        """True once the final list is recorded; later events (garbage collection) are dropped."""
        self._stopping = threading.Event()
        self._watch: transports.Watch | None = None
        self._thread: concurrency.Thread | None = None
        self.failure: str | None = None

    def start(self) -> None:
        """Start to watch, on a thread."""
        self._thread = concurrency.spawn(f"record-{self._resource.plural}", self._run)

    def take_list(self, purpose: Literal["first", "relist"]) -> None:
        """Record a complete list and continue from its resource version."""
        listed = self._get_list()
        self._write(self._list_records(listed, purpose))
        self._live = _versions(listed)
        self._version = int(listed.metadata.resourceVersion)

    def finish(self) -> None:
        """Wait until the watch has delivered everything in a list, and record that list.

        If it does not within CATCH_UP_TIMEOUT_S of the first list, the list is recorded
        nevertheless: the difference is evidence.
        """
        listed = self._get_list_until(_after_catching_up())
        deadline_ns = _after_catching_up()  # a server that stood still owes the watch its time, too
        while not self._end_with(listed, deadline_ns):
            clocks.sleep(_RETRY_S)
            listed = self._get_list_until(deadline_ns)
        self._stopping.set()
        if self._watch is not None:
            self._watch.close()
        if self._thread is not None:
            self._thread.join(CATCH_UP_TIMEOUT_S)

    def _end_with(self, listed: _List, deadline_ns: int) -> bool:
        """Record the final list and end if the recorded events agree with it or time is up."""
        with self._guard:
            self._ended = self._live == _versions(listed) or clocks.monotonic_ns() >= deadline_ns
            if self._ended:
                self._writer.write_many(self._list_records(listed, "final"))
        return self._ended

    def _get_list_until(self, deadline_ns: int) -> _List:
        """Return a list; retry what may pass, such as a connection that was idle for too long."""
        while True:
            try:
                return self._get_list()
            except (transports.TransportError, apis.ApiError) as error:
                if not backoffs.is_transient(error) or clocks.monotonic_ns() >= deadline_ns:
                    raise
            clocks.sleep(_RETRY_S)

    def _get_list(self) -> _List:
        path = self._resource.path(self._namespace)
        response = self._api.transport.send(transports.Request(method="GET", path=path))
        if response.status != 200:
            raise apis.to_error(response.status, response.body)
        return _lists.decode(response.body)

    def _list_records(
        self, listed: _List, purpose: Literal["first", "relist", "final"]
    ) -> list[records.Body]:
        now = clocks.monotonic_ns()
        body: list[records.Body] = [
            records.Listed(
                resource=self._resource.plural,
                purpose=purpose,
                resource_version=int(listed.metadata.resourceVersion),
                count=len(listed.items),
                ts_ns=now,
            )
        ]
        kind: Kind = "FINAL" if purpose == "final" else "LISTED"
        body += [self._observation(kind, item, _meta(item), now) for item in listed.items]
        return body

    def _run(self) -> None:
        backoff = backoffs.WatchBackoff(first_s=_RETRY_S, max_s=_RETRY_MAX_S)
        try:
            while not self._stopping.is_set():
                begun_ns, self._received = clocks.monotonic_ns(), 0
                failed = not self._try_to_follow()
                lasted_s = (clocks.monotonic_ns() - begun_ns) / 1e9
                self._stopping.wait(
                    backoff.after(lasted_s=lasted_s, received=self._received, failed=failed)
                )
        except (OSError, msgspec.MsgspecError) as error:
            self.failure = f"{self._resource.plural}: {error!r}"

    def _try_to_follow(self) -> bool:
        """Watch until the watch ends; return whether it ended without an error."""
        try:
            if self._gapped:
                self.take_list("relist")
                self._gapped = False
            self._follow()
        except transports.TransportError:
            return False
        except apis.ApiError as error:
            if error.is_gone and not self._stopping.is_set():
                self._note_gap(error)
            return False
        return True

    def _note_gap(self, error: apis.ApiError) -> None:
        gap = records.Gap(
            resource=self._resource.plural,
            after_resource_version=self._version,
            reason=str(error),
            ts_ns=clocks.monotonic_ns(),
        )
        self._write([gap])
        self._gapped = True

    def _follow(self) -> None:
        watch = self._watch = self._api.watch(
            self._resource, namespace=self._namespace, resource_version=str(self._version)
        )
        self._write(
            [
                records.Resumed(
                    resource=self._resource.plural,
                    resource_version=self._version,
                    reason="watch opened",
                    ts_ns=clocks.monotonic_ns(),
                )
            ]
        )
        if self._stopping.is_set():
            watch.close()
        for line in watch:
            self._received += 1
            self._receive(line)

    def _receive(self, line: bytes) -> None:
        now = clocks.monotonic_ns()
        event = _events.decode(line)
        if event.type == "ERROR":
            raise apis.to_error(500, bytes(event.object))
        meta = _meta(event.object)
        if event.type in ("ADDED", "MODIFIED", "DELETED"):
            kind = cast("Kind", event.type)
            self._keep(self._observation(kind, event.object, meta, now), meta)
        self._version = int(meta.resourceVersion)

    def _keep(self, seen: records.Observation, meta: _Meta) -> None:
        with self._guard:
            if self._ended:
                return
            self._writer.write_many([seen])
            if seen.type == "DELETED":
                self._live.pop(meta.uid, None)
            else:
                self._live[meta.uid] = meta.resourceVersion

    def _observation(
        self, kind: Kind, item: msgspec.Raw, meta: _Meta, now: int
    ) -> records.Observation:
        return records.Observation(
            resource=self._resource.plural,
            type=kind,
            resource_version=int(meta.resourceVersion),
            ts_ns=now,
            object=item,
        )

    def _write(self, body: list[records.Body]) -> None:
        with self._guard:
            if not self._ended:
                self._writer.write_many(body)


def _meta(item: msgspec.Raw) -> _Meta:
    return _objects.decode(item).metadata


def _versions(listed: _List) -> dict[str, str]:
    return {meta.uid: meta.resourceVersion for meta in map(_meta, listed.items)}
