"""The cells of table rows, for all kinds but pods.

After k8s.io/kubernetes/pkg/printers/internalversion/printers.go.
"""

import datetime
from collections.abc import Callable
from typing import Any

from harness.apiserver.scheme.json_document import Document

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


def between(since: str, now: str) -> str:
    """Return the duration between two RFC 3339 times, `<unknown>` if `since` is empty."""
    if not since:
        return "<unknown>"
    elapsed = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(since)
    return human(int(elapsed.total_seconds()))


def human(seconds: int) -> str:
    """Format a number of seconds: `119s`, `2m`, `7h59m`, `3d`, …"""
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")


NONE = "<none>"
_ROLE_PREFIX = "node-role.kubernetes.io/"


def value(document: Any, path: str) -> Any:
    """Return the value at a dotted path, None if there is none."""
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def data_count(document: Document) -> int:
    """Count the keys of a ConfigMap or Secret."""
    return len(document.get("data") or ()) + len(document.get("binaryData") or ())


def conditions_met(document: Document) -> set[str]:
    """Return the types of the conditions whose status is `True`."""
    conditions = value(document, "status.conditions") or ()
    return {item.get("type", "") for item in conditions if item.get("status") == "True"}


# ------------------------------------------------------------------ nodes


def node_status(node: Document) -> str:
    """Return `Ready`, `NotReady` or `Unknown`, with `,SchedulingDisabled` if it is cordoned."""
    conditions = value(node, "status.conditions") or ()
    ready = next((c.get("status") for c in conditions if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if value(node, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def node_roles(node: Document) -> str:
    """Return the roles that the node's labels name, `<none>` if they name none."""
    labels = value(node, "metadata.labels") or {}
    roles = [key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)]
    if role := labels.get("kubernetes.io/role"):
        roles.append(role)
    return ",".join(sorted(roles)) or NONE


def node_address(kind: str) -> Callable[[Document], str]:
    """Return a cell with the node's first address of a type, such as `InternalIP`."""

    def cell(node: Document) -> str:
        addresses = value(node, "status.addresses") or ()
        return next((a["address"] for a in addresses if a.get("type") == kind), NONE)

    return cell


# ------------------------------------------------------------------ events


def event_object(event: Document) -> str:
    """Return the object that an event is about: `pod/web-0`."""
    about = event.get("involvedObject") or {}
    kind, name = str(about.get("kind", "")).lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def event_source(event: Document) -> str:
    """Return the component that reported an event, and its host: `kubelet, node-1`."""
    component = value(event, "source.component") or event.get("reportingComponent") or ""
    host = value(event, "source.host") or event.get("reportingInstance") or ""
    return ", ".join(part for part in (component, host) if part)


def event_count(event: Document) -> int:
    return value(event, "series.count") or event.get("count") or 1


def event_last_seen(event: Document, now: str) -> str:
    """Return the time since the last occurrence of an event."""
    last = value(event, "series.lastObservedTime") or event.get("lastTimestamp")
    return between(last or event.get("eventTime") or "", now)


def event_first_seen(event: Document, now: str) -> str:
    """Return the time since the first occurrence of an event."""
    return between(event.get("firstTimestamp") or event.get("eventTime") or "", now)


# ------------------------------------------------------------------ devices


def claim_state(claim: Document) -> str:
    """Return the state of a ResourceClaim: `deleted,allocated,reserved` in part, or `pending`."""
    status, states = claim.get("status") or {}, []
    if "deletionTimestamp" in claim["metadata"]:
        states.append("deleted")
    if status.get("allocation") is not None:
        states.append("allocated")
    if status.get("reservedFor"):
        states.append("reserved")
    return ",".join(states or ["pending"])
