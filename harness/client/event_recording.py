"""Kubernetes Events on the objects that a component cannot work on.

As in k8s.io/client-go/tools/record, an event that occurs again is counted, not repeated, and an
object gets 25 events. They are sent by the thread that calls; one that cannot be sent is lost.
"""

from harness import clocks, concurrency
from harness.client import apis, transports
from harness.model.objects import Object

BURST = 25
"""Number of times that events of one object are sent."""
_MESSAGE_CHARACTERS_MAX = 1024
_NAME_CHARACTERS_MAX = 253


class EventRecorder:
    """Sends events; used by several threads."""

    def __init__(self, api: apis.Api, *, component: str) -> None:
        self._api, self._component = api, component
        self._guard = concurrency.lock("event-recorder")
        self._sent: dict[str, dict[tuple[str, str], tuple[str, int]]] = {}
        """uid of an object -> reason and message -> the name of the event, and its count."""

    def warn(self, obj: Object, kind: str, *, reason: str, message: str, host: str = "") -> None:
        """Send an event of type Warning on an object of this kind; never fails.

        `host` is the node where the component runs; empty: not told.
        """
        with self._guard:
            sent = self._sent.setdefault(obj["metadata"]["uid"], {})
            if sum(count for _, count in sent.values()) >= BURST:
                return
            name, count = sent.get((reason, message), ("", 0))
        source = {"component": self._component} | ({"host": host} if host else {})
        event = _event(obj, kind, reason, message, source)
        try:
            if not (count and self._count(event, name, count + 1)):
                self._api.create(apis.EVENTS, event, namespace=event["metadata"]["namespace"])
                name, count = event["metadata"]["name"], 0
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("event.failed", reason=str(error))
            return
        with self._guard:
            sent[reason, message] = name, count + 1

    def _count(self, event: Object, name: str, count: int) -> bool:
        """Count an event that was sent before; return whether it is still there."""
        change = {"count": count, "lastTimestamp": event["lastTimestamp"]}
        try:
            namespace = event["metadata"]["namespace"]
            self._api.patch(apis.EVENTS, name, change, namespace=namespace)
        except apis.ApiError as error:
            if not error.is_not_found:
                raise
            return False
        return True


def _event(obj: Object, kind: str, reason: str, message: str, source: Object) -> Object:
    meta, now, suffix = obj["metadata"], clocks.wall_text(), f".{clocks.wall_ns():x}"
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
