"""Describes what an AllocationResult must say of the devices that the solver chose.

Each function returns a description that two allocations share if they say the same, however
amounts are written.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.model import quantities
from tests.model_based.allocation import solving, supplies

Object = dict[str, Any]
ELSEWHERE: list[Object] = [
    {"metadata": {"name": name, "labels": labels}}
    for name, labels in (("e0", {}), ("e1", {"zone": "z"}), ("e2", {"zone": "z", "half": "z0"}))
]
"""Nodes that no problem has, to ask node selectors of."""


def expected(
    claim: Object, rows: Sequence[solving.Row], classes: Mapping[str, Object], nodes: list[Object]
) -> Object:
    """Describe the allocation of a claim, for the rows of the solver; the first node has them."""
    return {
        "results": [_expected_row(row) for row in rows],
        "config": {row.label: _config(claim, row, classes) for row in rows},
        "reaches": [_reaches(rows, node, nodes[0]) for node in (*nodes, *ELSEWHERE)],
    }


def said(allocation: Object, nodes: list[Object]) -> Object:
    results = allocation["devices"]["results"]
    return {
        "results": [_said_row(row) for row in results],
        "config": {row["request"]: _said_config(allocation, row["request"]) for row in results},
        "reaches": [
            supplies.selects(allocation.get("nodeSelector"), node) for node in (*nodes, *ELSEWHERE)
        ],
    }


def _expected_row(row: solving.Row) -> Object:
    item = row.device.item
    return {
        "request": row.label,
        "device": row.device.id,
        "admin": row.is_admin,
        "is share": row.consumed is not None,
        "consumed": dict(row.consumed or {}),
        "tolerations": row.option.get("tolerations", []),
        "conditions": item.get("bindingConditions", []),
    }


def _said_row(row: Object) -> Object:
    consumed = row.get("consumedCapacity", {})
    return {
        "request": row["request"],
        "device": f"{row['driver']}/{row['pool']}/{row['device']}",
        "admin": bool(row.get("adminAccess")),
        "is share": "shareID" in row,
        "consumed": {name: quantities.amount(text) for name, text in consumed.items()},
        "tolerations": row.get("tolerations", []),
        "conditions": row.get("bindingConditions", []),
    }


def _config(
    claim: Object, row: solving.Row, classes: Mapping[str, Object]
) -> list[tuple[str, str]]:
    """The configuration for a request: that of its class, then that of the claim."""
    names = {"", row.label, row.label.partition("/")[0]}
    of_class = classes[row.option["deviceClassName"]]["spec"]["config"]
    return [
        *(("FromClass", _text(item)) for item in of_class),
        *(
            ("FromClaim", _text(item))
            for item in claim["spec"]["devices"].get("config", ())
            if names & set(item.get("requests", [""]))
        ),
    ]


def _said_config(allocation: Object, label: str) -> list[tuple[str, str]]:
    names = {"", label, label.partition("/")[0]}
    return [
        (item["source"], _text(item))
        for item in allocation["devices"].get("config", ())
        if names & set(item.get("requests") or [""])
    ]


def _text(item: Object) -> str:
    return str(item["opaque"]["parameters"]["text"])


def _reaches(rows: Sequence[solving.Row], node: Object, chosen: Object) -> bool:
    for row in rows:
        if "nodeName" in row.device.place or row.device.item.get("bindsToNode"):
            return node is chosen
    return all(supplies.is_on(row.device.place, node) for row in rows)
