"""Objects as the rows that `kubectl get` prints."""

import datetime
from collections.abc import Callable, Iterable
from typing import Any

from harness.apiserver import resources

Document = dict[str, Any]
Cells = Callable[[Document], list[Any]]
_UNITS = ((86_400 * 2, 86_400, "d"), (3 * 3600, 3600, "h"), (120, 60, "m"), (0, 1, "s"))


def table(
    resource: resources.ResourceType, documents: Iterable[Document], *, meta: Document, now: str
) -> Document:
    """A meta.k8s.io/v1 Table; each row carries the object's metadata."""
    columns, cells = _KINDS.get(resource, _PLAIN)
    names = ["Name", *columns, "Age"]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": meta,
        "columnDefinitions": [_column(name) for name in names],
        "rows": [_row(document, cells, now) for document in documents],
    }


def _column(name: str) -> Document:
    return {
        "name": name,
        "type": "string",
        "format": "name" if name == "Name" else "",
        "description": "",
        "priority": 0,
    }


def _row(document: Document, cells: Cells, now: str) -> Document:
    meta = document["metadata"]
    partial = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {key: value for key, value in meta.items() if key != "managedFields"},
    }
    age = _age(meta.get("creationTimestamp", now), now)
    return {"cells": [meta["name"], *cells(document), age], "object": partial}


def _age(since: str, now: str) -> str:
    elapsed = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(since)
    seconds = max(int(elapsed.total_seconds()), 0)
    unit = next((size, sign) for floor, size, sign in _UNITS if seconds >= floor)
    return f"{seconds // unit[0]}{unit[1]}"


def _pod(pod: Document) -> list[Any]:
    status, total = pod.get("status") or {}, len(pod["spec"].get("containers") or [])
    running = status.get("phase") == "Running"
    phase = "Terminating" if "deletionTimestamp" in pod["metadata"] else status.get("phase", "")
    return [f"{total if running else 0}/{total}", phase, "0", pod["spec"].get("nodeName", "<none>")]


def _claim(claim: Document) -> list[Any]:
    status, states = claim.get("status") or {}, []
    if "deletionTimestamp" in claim["metadata"]:
        states.append("deleted")
    if status.get("allocation") is not None:
        states.append("allocated")
    if status.get("reservedFor"):
        states.append("reserved")
    return [",".join(states or ["pending"])]


def _node(node: Document) -> list[Any]:
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
    info = (node.get("status") or {}).get("nodeInfo") or {}
    return ["Ready" if ready else "NotReady", "<none>", info.get("kubeletVersion", "")]


def _slice(item: Document) -> list[Any]:
    spec = item["spec"]
    pool = spec.get("pool") or {}
    return [spec.get("nodeName", ""), spec.get("driver", ""), pool.get("name", "")]


def _event(event: Document) -> list[Any]:
    about = event.get("involvedObject") or event.get("regarding") or {}
    target = f"{about.get('kind', '').lower()}/{about.get('name', '')}"
    return [event.get("type", ""), event.get("reason", ""), target, event.get("message", "")]


_PLAIN: tuple[tuple[str, ...], Cells] = ((), lambda _: [])
_KINDS: dict[resources.ResourceType, tuple[tuple[str, ...], Cells]] = {
    resources.PODS: (("Ready", "Status", "Restarts", "Node"), _pod),
    resources.CLAIMS: (("State",), _claim),
    resources.NODES: (("Status", "Roles", "Version"), _node),
    resources.NAMESPACES: (("Status",), lambda n: [(n.get("status") or {}).get("phase", "")]),
    resources.SLICES: (("Node", "Driver", "Pool"), _slice),
    resources.EVENTS: (("Type", "Reason", "Object", "Message"), _event),
}
