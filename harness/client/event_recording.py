"""Kubernetes Events on the objects that a component cannot work on.

They are sent by the thread that calls; one that cannot be sent is lost. One that was sent is not
repeated.
"""

from harness import clocks, concurrency
from harness.client import apis, transports
from harness.model.objects import Object

_MESSAGE_CHARACTERS_MAX = 1024
_NAME_CHARACTERS_MAX = 253


class EventRecorder:
    """Sends events; used by several threads."""

    def __init__(self, api: apis.Api, *, component: str) -> None:
        self._api, self._component = api, component
        self._guard = concurrency.lock("event-recorder")
        self._sent: set[tuple[str, str, str]] = set()
        """The uid of the object, the reason and the message of each event."""

    def warn(self, obj: Object, kind: str, *, reason: str, message: str) -> None:
        """Send an event of type Warning on an object of this kind; never fails."""
        key, namespace = (obj["metadata"]["uid"], reason, message), obj["metadata"]["namespace"]
        with self._guard:
            if key in self._sent:
                return
        event = _event(obj, kind, reason, message, self._component)
        try:
            self._api.create(apis.EVENTS, event, namespace=namespace)
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("event.failed", reason=str(error))
            return
        with self._guard:
            self._sent.add(key)


def _event(obj: Object, kind: str, reason: str, message: str, component: str) -> Object:
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
        "source": {"component": component},
        "reportingComponent": component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
