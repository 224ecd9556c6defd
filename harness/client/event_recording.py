"""Kubernetes Events on the objects that a component cannot work on.

After k8s.io/client-go/tools/record: an event that occurs again is counted, not repeated; events
that differ only in their message are combined after ten of them; an object gets 25 events at once
and then one in five minutes. Events are sent by the thread that calls; one that cannot be sent is
lost.
"""

import collections
import dataclasses
import datetime
import time
from typing import Any, NamedTuple

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object

COMBINED = "(combined from similar events): "
SIMILAR_MAX = 10
"""Number of events with different messages before they are combined."""
SIMILAR_WITHIN_S = 600.0
"""Seconds within which they must occur."""
BURST = 25
"""Number of events of one object that are sent at once."""
REFILL_S = 300.0
"""Seconds after which an object may have one more event."""
OBJECTS_MAX = 4096
"""Number of objects, and of events, to remember."""
_MESSAGE_CHARACTERS_MAX = 1024
_NAME_CHARACTERS_MAX = 253


class _Similar(NamedTuple):
    """Events that differ at most in their message."""

    uid: str
    reason: str


@dataclasses.dataclass(slots=True)
class _Budget:
    """How many events an object may still have."""

    tokens: float
    at_s: float

    def take(self, now_s: float) -> bool:
        self.tokens = min(BURST, self.tokens + (now_s - self.at_s) / REFILL_S)
        self.at_s = now_s
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@dataclasses.dataclass(slots=True)
class _Messages:
    """The different messages of similar events, since a time."""

    texts: set[str]
    since_s: float


@dataclasses.dataclass(slots=True)
class _Sent:
    """An event that the API server has."""

    name: str
    count: int


class EventRecorder:
    """Sends events; used by several threads."""

    def __init__(self, api: apis.Api, *, component: str) -> None:
        self._api, self._component = api, component
        self._guard = concurrency.lock("event-recorder")
        self._budgets: collections.OrderedDict[str, _Budget] = collections.OrderedDict()
        self._messages: collections.OrderedDict[_Similar, _Messages] = collections.OrderedDict()
        self._sent: collections.OrderedDict[tuple[_Similar, str], _Sent] = collections.OrderedDict()

    def warn(self, obj: Object, kind: str, *, reason: str, message: str, host: str = "") -> None:
        """Send an event of type Warning on an object of this kind; never fails.

        `host` is the node where the component runs; empty: not told.
        """
        similar = _Similar(obj["metadata"]["uid"], reason)
        now_s = concurrency.monotonic_s()
        with self._guard:
            text, key = self._combined(similar, message, now_s)
            budget = _remembered(self._budgets, similar.uid, _Budget(BURST, now_s))
            if not budget.take(now_s):
                return
            sent = self._sent.get((similar, key))
        source = {"component": self._component} | ({"host": host} if host else {})
        try:
            self._send(_event(obj, kind, reason, text, source), (similar, key), sent)
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("event.failed", reason=str(error))

    def _combined(self, similar: _Similar, message: str, now_s: float) -> tuple[str, str]:
        known = _remembered(self._messages, similar, _Messages(set(), now_s))
        if now_s - known.since_s > SIMILAR_WITHIN_S:
            known.texts, known.since_s = set(), now_s
        if message not in known.texts and len(known.texts) >= SIMILAR_MAX:
            return COMBINED + message, COMBINED
        known.texts.add(message)
        return message, message

    def _send(self, event: Object, key: tuple[_Similar, str], sent: _Sent | None) -> None:
        namespace = event["metadata"]["namespace"]
        if sent is not None:
            change = {item: event[item] for item in ("message", "lastTimestamp")}
            try:
                self._api.patch(
                    apis.EVENTS, sent.name, {"count": sent.count + 1, **change}, namespace=namespace
                )
            except apis.ApiError as error:
                if not error.is_not_found:
                    raise
            else:
                sent.count += 1
                return
        self._api.create(apis.EVENTS, event, namespace=namespace)
        with self._guard:
            _remembered(self._sent, key, _Sent("", 1)).name = event["metadata"]["name"]


def _remembered(known: collections.OrderedDict[Any, Any], key: Any, fresh: Any) -> Any:
    """Return what is known for a key, or `fresh`; forget what was used longest ago."""
    value = known.setdefault(key, fresh)
    known.move_to_end(key)
    while len(known) > OBJECTS_MAX:
        known.popitem(last=False)
    return value


def _event(obj: Object, kind: str, reason: str, message: str, source: Object) -> Object:
    meta, now, suffix = obj["metadata"], _now_text(), f".{time.time_ns():x}"
    about = {key: meta[key] for key in ("namespace", "name", "uid", "resourceVersion")}
    return {
        "apiVersion": apis.EVENTS.api_version,
        "kind": apis.EVENTS.kind,
        "metadata": {
            "name": meta["name"][: _NAME_CHARACTERS_MAX - len(suffix)].rstrip("-.") + suffix,
            "namespace": meta["namespace"],
        },
        "involvedObject": {"apiVersion": "v1", "kind": kind, **about},
        "type": "Warning",
        "reason": reason,
        "message": message[:_MESSAGE_CHARACTERS_MAX],
        "source": source,
        "reportingComponent": source["component"],
        "reportingInstance": source.get("host", ""),
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _now_text() -> str:
    moment = datetime.datetime.fromtimestamp(time.time_ns() // 1_000_000_000, tz=datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
