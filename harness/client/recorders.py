"""The recorder: a process that records each change that the API server reports.

It has one watch per resource and one writer. When a version is too old to resume a watch there, a
gap is recorded and the resource is listed again. At the end each stream waits until its watch has
delivered everything in a final list, and records that list too.
"""

import dataclasses
import pathlib
import threading
from typing import Literal, TypeAlias, cast

import msgspec

from harness import clocks, errors, processes
from harness.client import apis, backoffs, reflectors, transports
from harness.history import directories, journal_writer, plans, records

CATCH_UP_TIMEOUT_S = 10.0
"""Time limit for a watch to deliver the changes up to the final list."""
_RETRY_S = 0.05
_BACKOFF_MAX_S = 1.0
"""Longest wait between two watches while the API server is away, in seconds."""
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
READY_TIMEOUT_S = 20.0
"""Time limit for the recorder to start."""
_OF_NAMESPACE = ("pods", "resourceclaims", "resourceclaimtemplates")
"""Resources that are recorded in the run's namespace only."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecorderOptions:
    """The options of the recorder."""

    kubeconfig: pathlib.Path
    run_directory: pathlib.Path
    """The run directory, whose plan.json names the resources to record and the compression."""
    ready_file: pathlib.Path | None = None
    """Created once the recorder is watching; None: no file."""


def run(options: RecorderOptions) -> int:
    """Record until SIGTERM; return 0 once the journal is complete and closed.

    Raises HarnessError if recording fails.
    """
    stopped = processes.StopEvent()
    directory = directories.existing(options.run_directory)
    plan = plans.read(directory.plan)
    transport = transports.connect(options.kubeconfig)
    path = directory.new_observations(plan.compression)
    writer = journal_writer.Writer(path, process="recorder", run_id=plan.run_id)
    recorder = Recorder(apis.Api(transport), writer, plan=plan)
    recorder.start()
    if options.ready_file is not None:
        processes.touch_ready(options.ready_file)
    while not stopped.wait(0.2):
        recorder.raise_failure()
    recorder.finish()
    writer.close()
    return 0


class Recorder:
    """Records the resources of a plan."""

    def __init__(self, api: apis.Api, writer: journal_writer.Writer, *, plan: plans.Plan) -> None:
        guard = threading.Lock()
        self._streams = [
            ResourceStream(
                api,
                apis.BY_PLURAL[plural],
                writer,
                guard,
                namespace=plan.namespace if plural in _OF_NAMESPACE else None,
            )
            for plural in plan.resources
        ]

    def start(self) -> None:
        for stream in self._streams:
            stream.take_list("first")
            stream.start()

    def finish(self) -> None:
        """Catch up with the server, record the final lists, and end."""
        for stream in self._streams:
            stream.finish()

    def raise_failure(self) -> None:
        for stream in self._streams:
            if stream.failure is not None:
                raise errors.HarnessError(f"recording failed: {stream.failure}")


def _after_catching_up() -> int:
    return clocks.monotonic_ns() + int(CATCH_UP_TIMEOUT_S * 1e9)


class ResourceStream(reflectors.Reflector):
    """Records one resource: its lists, and every change that its watch reports."""

    def __init__(
        self,
        api: apis.Api,
        resource: apis.Resource,
        writer: journal_writer.Writer,
        guard: threading.Lock,
        *,
        namespace: str | None,
    ) -> None:
        super().__init__(
            api,
            resource,
            name=f"record-{resource.plural}",
            namespace=namespace,
            backoff_max_s=_BACKOFF_MAX_S,
        )
        self._writer, self._guard = writer, guard
        self._live: dict[str, str] = {}
        """The resourceVersion of each existing object by uid, according to the records."""
        self._ended = False
        """True once the final list is recorded; later events (garbage collection) are dropped."""
        self.failure: str | None = None

    def take_list(self, purpose: Literal["first", "relist"]) -> None:
        """Record a complete list and continue from its resource version."""
        listed = self._get_list()
        self._write(self._list_records(listed, purpose))
        self._live = _versions(listed)
        self._version = listed.metadata.resourceVersion

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
        self.stop()

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
        head = records.Listed(
            resource=self._resource.plural,
            purpose=purpose,
            resource_version=int(listed.metadata.resourceVersion),
            count=len(listed.items),
            ts_ns=now,
        )
        kind: Kind = "FINAL" if purpose == "final" else "LISTED"
        return [head, *(self._observation(kind, item, _meta(item), now) for item in listed.items)]

    def _run(self) -> None:
        try:
            super()._run()
        except (OSError, msgspec.MsgspecError) as error:
            self.failure = f"{self._resource.plural}: {error!r}"

    def _list(self) -> None:
        self.take_list("relist")

    def _note_gap(self, error: apis.ApiError) -> None:
        if self._stopped.is_set():
            return
        gap = records.Gap(
            resource=self._resource.plural,
            after_resource_version=int(self._version),
            reason=str(error),
            ts_ns=clocks.monotonic_ns(),
        )
        self._write([gap])

    def _note_opened(self) -> None:
        opened = records.Resumed(
            resource=self._resource.plural,
            resource_version=int(self._version),
            reason="watch opened",
            ts_ns=clocks.monotonic_ns(),
        )
        self._write([opened])

    def _receive(self, line: bytes) -> None:
        now = clocks.monotonic_ns()
        event = _events.decode(line)
        if event.type == "ERROR":
            raise apis.to_error(500, bytes(event.object))
        meta = _meta(event.object)
        if event.type in ("ADDED", "MODIFIED", "DELETED"):
            kind = cast("Kind", event.type)
            self._keep(self._observation(kind, event.object, meta, now), meta)
        self._version = meta.resourceVersion

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
