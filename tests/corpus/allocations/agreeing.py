"""Compares an outcome with the recorded one.

Not compared, because it is not the allocator's: the time of an allocation, the words of refusals,
and whether a pod waits for binding conditions once its claims are allocated. A recording in which
the node or the devices vary is compared by requests and configuration only.
"""

import json
from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]


def differences(case: Object, outcome: Object) -> list[str]:
    """Return what is not as recorded, for each pod."""
    return [
        f"{name}: {text}"
        for name, expected in case["expected"]["pods"].items()
        for text in _of_pod(case["stable"], expected, outcome["pods"][name])
    ]


def _of_pod(stable: Object, expected: Object, seen: Object) -> Iterator[str]:
    kinds = ["unschedulable" in item for item in (expected, seen)]
    if kinds[0] != kinds[1]:
        yield f"expected {json.dumps(expected)[:300]}, got {json.dumps(seen)[:300]}"
    elif kinds[0]:
        if expected.get("reason") != seen.get("reason"):
            yield f"expected {expected}, got {seen}"
    else:
        if stable["node"] and expected["node"] != seen["node"]:
            yield f"node {expected['node']}, got {seen['node']}"
        view = _plain if stable["devices"] else _rough
        claims = [
            {name: view(allocation) for name, allocation in item["claims"].items()}
            for item in (expected, seen)
        ]
        if claims[0] != claims[1]:
            yield f"expected {json.dumps(claims[0])}, got {json.dumps(claims[1])}"
        mappings = [_mappings(item) for item in (expected, seen)]
        if mappings[0] != mappings[1]:
            yield f"expected the mappings {mappings[0]}, got {mappings[1]}"


def _mappings(outcome: Object) -> list[tuple[str, ...]]:
    """Return which container uses which request for an extended resource, in any order."""
    keys = ("containerName", "resourceName", "requestName")
    mappings = outcome.get("extendedResourceMappings") or ()
    return sorted(tuple(mapping[key] for key in keys) for mapping in mappings)


def _plain(allocation: Object) -> Object:
    """Return an allocation without its time and the value of its share IDs."""
    plain = {key: value for key, value in allocation.items() if key != "allocationTimestamp"}
    devices = dict(plain["devices"])
    devices["results"] = [
        row | ({"shareID": "some"} if "shareID" in row else {})
        for row in devices.get("results") or ()
    ]
    return plain | {"devices": devices}


def _rough(allocation: Object) -> Object:
    devices = allocation["devices"]
    requests = sorted({row["request"] for row in devices.get("results") or ()})
    return {"requests": requests, "config": devices.get("config")}
