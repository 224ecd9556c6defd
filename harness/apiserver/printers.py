"""The `Table` form of objects, which `kubectl get` prints: a few columns of a few kinds.

All other kinds have the columns Name and Age.
"""

import datetime
from collections.abc import Callable
from typing import Any

from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources

Cell = Callable[[Document], Any]


def table(
    resource: resources.ResourceType, *, meta: Document, with_columns: bool = True
) -> Document:
    """Return a meta.k8s.io `Table` without `rows`, which the caller appends as the last key."""
    names = ["Name", *_COLUMNS.get((resource.group, resource.kind), {}), "Age"]
    columns = [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": 0,
        }
        for name in names
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": meta,
        "columnDefinitions": columns if with_columns else None,
    }


def row(
    resource: resources.ResourceType, document: Document, *, now: str, include: str = ""
) -> Document:
    """Return an object as a row of a table.

    `include`: the part of the object that the row has: `None`, `Object`, else its metadata.
    """
    meta = document["metadata"]
    columns = _COLUMNS.get((resource.group, resource.kind), {})
    cells = [cell(document) for cell in columns.values()]
    objects = {"None": None, "Object": document}
    age = _age(meta.get("creationTimestamp") or "", now)
    return {"cells": [meta["name"], *cells, age], "object": objects.get(include, partial(document))}


def partial(document: Document) -> Document:
    """Return an object as `PartialObjectMetadata`."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": document["metadata"],
    }


def _age(since: str, now: str) -> str:
    if not since:
        return "<unknown>"
    elapsed = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(since)
    seconds = int(elapsed.total_seconds())
    for unit, letter in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * unit:
            return f"{seconds // unit}{letter}"
    return f"{max(seconds, 0)}s"


def _at(path: str) -> Cell:
    """Return a cell with the value at a dotted path, "" if there is none."""
    keys = path.split(".")

    def cell(document: Any) -> Any:
        for key in keys:
            document = document.get(key) if isinstance(document, dict) else None
        return document or ""

    return cell


def _pod_status(pod: Document) -> str:
    status = pod.get("status") or {}
    is_over = status.get("phase") in ("Succeeded", "Failed")
    if "deletionTimestamp" in pod["metadata"] and not is_over:
        return "Terminating"
    return status.get("reason") or status.get("phase") or "Unknown"


def _node_status(node: Document) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((item.get("status") for item in conditions if item.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _claim_state(claim: Document) -> str:
    """Return the state of a ResourceClaim: `deleted,allocated,reserved` in part, or `pending`."""
    status = claim.get("status") or {}
    states = {
        "deleted": "deletionTimestamp" in claim["metadata"],
        "allocated": status.get("allocation") is not None,
        "reserved": bool(status.get("reservedFor")),
    }
    return ",".join(state for state, is_so in states.items() if is_so) or "pending"


_COLUMNS: dict[tuple[str, str], dict[str, Cell]] = {
    ("", "Pod"): {"Status": _pod_status, "Node": _at("spec.nodeName")},
    ("", "Node"): {"Status": _node_status, "Version": _at("status.nodeInfo.kubeletVersion")},
    ("resource.k8s.io", "ResourceClaim"): {"State": _claim_state},
    ("resource.k8s.io", "ResourceSlice"): {
        "Node": _at("spec.nodeName"),
        "Driver": _at("spec.driver"),
        "Pool": _at("spec.pool.name"),
    },
}
"""The columns between Name and Age, by (group, kind)."""
