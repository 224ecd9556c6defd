"""Histories of shared devices and counters, as a recorder writes them down.

One pool: device S can be shared and has 4 of `memory`, device X cannot; W consumes two `slots` of
two, H1 and H2 one each.
"""

from collections.abc import Mapping
from typing import Any

from harness.history import records
from tests.histories import language

DRIVER, POOL = "gpu.example", "pool"
MEMORY, SLOTS = 4, 2
COUNTERS = {"W": 2, "H1": 1, "H2": 1}
Object = dict[str, Any]
Taken = Mapping[str, int | None]
"""Device -> the consumed memory of a share; None: the whole device."""


def slices(
    rv: int = 1, *, memory: int = MEMORY, slots: int = SLOTS, **counters: int | None
) -> list[records.Body]:
    """The two slices of the pool, as a first list has them; `counters` are more of COUNTERS."""
    devices: list[Object] = [
        {
            "name": "S",
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": f"{memory}Gi"}},
        },
        {"name": "X", "capacity": {"memory": {"value": "4Gi"}}},
    ]
    for name, amount in (COUNTERS | counters).items():
        used = {"counterSet": "set", "counters": {"slots": {"value": str(amount)}}}
        devices.append({"name": name, "consumesCounters": [] if amount is None else [used]})
    declared = [{"name": "set", "counters": {"slots": {"value": str(slots)}}}]
    return [
        language.observation("resourceslices", rv, _slice("devices", {"devices": devices}), "LISTED"),
        language.observation("resourceslices", rv, _slice("counters", {"sharedCounters": declared}), "LISTED"),
    ]  # fmt: skip


def _slice(name: str, content: Object) -> Object:
    pool = {"name": POOL, "generation": 1, "resourceSliceCount": 2}
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"metadata": meta, "spec": {"driver": DRIVER, "pool": pool, **content}}


def claim(rv: int, name: str, taken: Taken) -> records.Body:
    results = []
    for device, memory in taken.items():
        result: Object = {"request": "r", "driver": DRIVER, "pool": POOL, "device": device}
        if memory is not None:
            consumed = {f"{DRIVER}/memory": f"{memory}Gi"}
            result |= {"shareID": f"share-{name}-{device}", "consumedCapacity": consumed}
        results.append(result)
    return allocated(rv, name, results)


def allocated(
    rv: int, name: str, results: list[Object], kind: str = "MODIFIED", spec: Object | None = None
) -> records.Body:
    status = {"allocation": {"devices": {"results": results}}} if results else {}
    obj = {"metadata": _meta(rv, name), "status": status} | ({"spec": spec} if spec else {})
    return language.observation("resourceclaims", rv, obj, kind)


def gone(rv: int, name: str) -> records.Body:
    return language.observation("resourceclaims", rv, {"metadata": _meta(rv, name)}, "DELETED")


def _meta(rv: int, name: str) -> Object:
    return {"name": name, "namespace": "tests", "uid": f"uid-{name}", "resourceVersion": str(rv)}


def device_id(name: str) -> str:
    return f"{DRIVER}/{POOL}/{name}"
