"""Stale reads: a get or list answered from an older version, as an API server's cache may.

A list is asked for again at the version of some seconds ago (`resourceVersionMatch=Exact`), which
API servers serve until they compact it. A get becomes such a list of its one object, in JSON.
Reads that ask for an exact, a newer or (without a version) the newest state are left alone, and so
are those whose result has not changed since: they would not be stale.
"""

import asyncio
import urllib.parse
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from harness import concurrency, protobuf_wire
from harness.fault_proxy import http_headers, statuses, upstreams
from harness.faults import api_calls, injection, matching, object_metadata, stale_reads

INTERVAL_S = 0.1
"""Time between notes."""
_ANY_COLLECTION = "/api/v1/namespaces"


class VersionNotes:
    """The versions of one API server since they have been needed."""

    def __init__(self, faults: injection.Faults, *, always: bool) -> None:
        """`always`: they are needed even while no fault makes reads stale."""
        self._faults, self._always = faults, always
        self.times = stale_reads.VersionTimes(concurrency.monotonic_s)
        self._task: asyncio.Task[None] | None = None
        self.last_collection = ""
        """The path of the collection that a client has read last, which it may read again."""

    def wanted(self, facts: matching.Facts | None = None) -> set[injection.Stale]:
        """Return the actions of faults that may make reads stale; with facts, this read."""
        return {
            fault.spec.action
            for fault in self._faults.all()
            if isinstance(fault.spec.action, injection.Stale)
            and (facts is None or fault.may_apply_to("request", facts))
        }

    def begin(self, upstream: upstreams.Upstream) -> None:
        """Note versions from now on if they are needed and not noted yet."""
        is_noting = self._task is not None and not self._task.done()
        if (self._always or self.wanted()) and not is_noting:
            self.times.clear()  # nothing is known of the time between
            self._task = asyncio.create_task(self._take(upstream))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _take(self, upstream: upstreams.Upstream) -> None:
        while self._always or self.wanted():
            if version := await _version_now(upstream, self.last_collection or _ANY_COLLECTION):
                self.times.note(version)
            await asyncio.sleep(INTERVAL_S)


async def _version_now(upstream: upstreams.Upstream, collection: str) -> int:
    """Return the version that a list of the collection has now, 0 if there is no answer."""
    headers = http_headers.Headers({"Accept": "application/json"})
    try:
        response = await upstream.send("GET", f"{collection}?limit=1", headers, None)
        answer = await upstreams.whole(response)
    except upstreams.NoResponseError:
        return 0
    return (object_metadata.of_body(answer.body) or object_metadata.UNKNOWN).version


_OK, _NOT_FOUND = 200, 404
_RAW, _ITEMS = 2, 2
"""Fields of a protobuf envelope and of the list in it."""
_VERSION, _MATCH = "resourceVersion", "resourceVersionMatch"


class Read(NamedTuple):
    """A get or list of a client."""

    call: api_calls.ApiCall
    path: str
    query: str
    headers: http_headers.Headers
    """Headers for the API server, without credentials."""


class StaleRead(NamedTuple):
    """An older answer to a read."""

    answer: upstreams.WholeAnswer
    version: int
    note: str
    """A remark for the record: the state is less old than asked. Empty: it is not."""


def is_read(call: api_calls.ApiCall) -> bool:
    return call.verb in ("get", "list") and bool(call.resource) and not call.subresource


async def find(
    read: Read,
    upstream: upstreams.Upstream,
    notes: VersionNotes,
    actions: Iterable[injection.Stale],
) -> dict[injection.Stale, StaleRead]:
    """Return the answer that each action would give, without those that are not stale.

    Raises NoResponseError.
    """
    found: dict[injection.Stale, StaleRead] = {}
    options = dict(urllib.parse.parse_qsl(read.query))
    for action in actions:
        older = notes.times.ago(action.seconds)
        if older is None or not stale_reads.accepts(options, older[0]):
            continue
        old = await _older(read, upstream, older[0])
        if old is not None and _content(old) != _content(await _current(read, upstream)):
            found[action] = StaleRead(old, *older)
    return found


async def _current(read: Read, upstream: upstreams.Upstream) -> upstreams.WholeAnswer:
    target = f"{read.path}?{read.query}" if read.query else read.path
    return await upstreams.whole(await upstream.send("GET", target, read.headers.copy(), None))


async def _older(
    read: Read, upstream: upstreams.Upstream, version: int
) -> upstreams.WholeAnswer | None:
    options = [
        pair for pair in urllib.parse.parse_qsl(read.query) if pair[0] not in (_VERSION, _MATCH)
    ]
    path, headers = read.path, read.headers.copy()
    if read.call.verb == "get":
        path = path.rstrip("/").rpartition("/")[0]
        options = [("fieldSelector", f"metadata.name={read.call.name}")]
        headers["Accept"] = statuses.CONTENT_TYPE
    query = urllib.parse.urlencode([*options, (_VERSION, str(version)), (_MATCH, "Exact")])
    answer = await upstreams.whole(await upstream.send("GET", f"{path}?{query}", headers, None))
    if answer.status != _OK:
        return None
    return _of_one(answer, read.call) if read.call.verb == "get" else answer


def _of_one(answer: upstreams.WholeAnswer, call: api_calls.ApiCall) -> upstreams.WholeAnswer:
    """Return a list of at most one object as the answer to a get."""
    listed = msgspec.json.decode(answer.body)
    items = listed.get("items") or []
    if not items:
        message = f'{call.resource} "{call.name}" not found'
        missing = msgspec.json.encode(statuses.failure(_NOT_FOUND, "NotFound", message))
        return answer._replace(status=_NOT_FOUND, reason="Not Found", body=missing)
    named = {"kind": listed["kind"].removesuffix("List"), "apiVersion": listed["apiVersion"]}
    return answer._replace(body=msgspec.json.encode(named | items[0]))


def _content(answer: upstreams.WholeAnswer) -> Any:
    """Return what a read has shown, without the version of a list, for comparison.

    An object is its uid and its version, so that JSON can be compared with protobuf.
    """
    if answer.status != _OK:
        return answer.status
    meta = object_metadata.of_body(answer.body)
    if meta is not None and meta.uid:
        return meta.uid, meta.resource_version
    if answer.body.startswith(object_metadata.MAGIC):
        message = protobuf_wire.first(answer.body[len(object_metadata.MAGIC) :], _RAW)
        return [item for number, item in protobuf_wire.read(message) if number == _ITEMS]
    try:
        listed = msgspec.json.decode(answer.body)
        return listed.get("items"), listed.get("rows")
    except (msgspec.DecodeError, AttributeError):
        return answer.body
