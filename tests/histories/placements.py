"""Slices, classes, nodes, claims and pods in their versions, as the checks of allocations see them.

A history is a list of events; the n-th one has resourceVersion n.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.checks import protocol
from harness.checks.devices import allocation_judging, device_timelines
from harness.checks.observed import claim_versions, observations, pod_lives
from harness.history import plans, records
from tests.histories import building, language

Object = dict[str, Any]
NAMESPACE, DRIVER, CLASS = "tests", "gpu.example", "gpu"
RESOURCES = {
    "ResourceClaim": observations.CLAIMS,
    "Pod": observations.PODS,
    "ResourceSlice": observations.SLICES,
    "DeviceClass": observations.CLASSES,
    "Node": observations.NODES,
    "DeviceTaintRule": observations.TAINT_RULES,
}
SECOND_NS = 1_000_000_000
NEEDS = (
    allocation_judging.Allocations,
    device_timelines.PoolTimelines,
    claim_versions.ClaimVersions,
    pod_lives.PodLives,
)


@dataclasses.dataclass(frozen=True)
class Event:
    """An object as a watch or a list delivers it."""

    obj: Object
    type: str = "MODIFIED"


def gone(event: Event) -> Event:
    return dataclasses.replace(event, type="DELETED")


def listed(event: Event) -> Event:
    """The object is in the first list."""
    return dataclasses.replace(event, type="LISTED")


# ------------------------------------------------------------------------------ objects


def device(name: str, **fields: Any) -> Object:
    """A device; `attributes` and `capacity` as plain values."""
    kinds = {str: "string", int: "int", bool: "bool", list: "ints"}
    attributes = {key: {kinds[type(v)]: v} for key, v in fields.pop("attributes", {}).items()}
    capacity = {key: {"value": v} for key, v in fields.pop("capacity", {}).items()}
    return {"name": name, "attributes": attributes, "capacity": capacity, **fields}


def piece(
    *devices: Object | str,
    pool: str = "n1",
    name: str = "s",
    generation: int = 1,
    count: int = 1,
    **place: Any,
) -> Event:
    """A slice; of the node that has the pool's name, unless it says otherwise."""
    spec = {
        "driver": DRIVER,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        "devices": [device(item) if isinstance(item, str) else item for item in devices],
        **(place or {"nodeName": pool}),
    }
    return Event({"kind": "ResourceSlice", "metadata": {"name": name, "uid": name}, "spec": spec})


def device_class(*selectors: str, name: str = CLASS, config: Sequence[Object] = ()) -> Event:
    spec: Object = {"selectors": [{"cel": {"expression": text}} for text in selectors]}
    if config:
        spec["config"] = list(config)
    return Event({"kind": "DeviceClass", "metadata": {"name": name, "uid": name}, "spec": spec})


def opaque(text: str, *requests: str, source: str = "") -> Object:
    """A configuration for the driver; with its source, as an allocation has it."""
    made: Object = {"opaque": {"driver": DRIVER, "parameters": {"text": text}}}
    if requests:
        made["requests"] = list(requests)
    return {"source": source, **made} if source else made


def node(name: str, **labels: str) -> Event:
    return Event({"kind": "Node", "metadata": {"name": name, "uid": name, "labels": labels}})


def exactly(name: str = "r", *selectors: str, **fields: Any) -> Object:
    return {"name": name, "exactly": option(*selectors, **fields)}


def option(*selectors: str, **fields: Any) -> Object:
    chosen = [{"cel": {"expression": text}} for text in selectors]
    return {"deviceClassName": CLASS, "selectors": chosen, **fields}


def result(name: str, *, pool: str = "n1", request: str = "r", **fields: Any) -> Object:
    return {"request": request, "driver": DRIVER, "pool": pool, "device": name, **fields}


def on(*names: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": list(names)}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def labelled(key: str, *values: str, operator: str = "In") -> Object:
    item = {"key": key, "operator": operator, "values": list(values)}
    return {"nodeSelectorTerms": [{"matchExpressions": [item]}]}


def claim(
    name: str = "c",
    *results: Object,
    requests: Sequence[Object] = (),
    constraints: Sequence[Object] = (),
    selector: Object | None = None,
    users: Sequence[str] = (),
    config: Sequence[Object] = (),
    copied: Sequence[Object] = (),
) -> Event:
    """A claim; with results it is allocated, with these copies of the configuration."""
    status: Object = {}
    if results:
        status["allocation"] = {"devices": {"results": list(results)}}
        if copied:
            status["allocation"]["devices"]["config"] = list(copied)
        if selector is not None:
            status["allocation"]["nodeSelector"] = selector
    if users:
        status["reservedFor"] = [{"resource": "pods", "name": u, "uid": u} for u in users]
    spec = {
        "devices": {"requests": list(requests or [exactly()]), "constraints": list(constraints)}
    }
    if config:
        spec["devices"]["config"] = list(config)
    meta = {"name": name, "namespace": NAMESPACE, "uid": name}
    return Event({"kind": "ResourceClaim", "metadata": meta, "spec": spec, "status": status})


def pod(
    name: str = "p",
    *claims: str,
    bound_to: str = "",
    generated: Mapping[str, str | None] | None = None,
    extended: str = "",
) -> Event:
    """A pod that names claims, or has entries from a template with these claims, if recorded."""
    entries: list[Object] = [{"name": item, "resourceClaimName": item} for item in claims]
    status: Object = {}
    if generated is not None:
        entries.append({"name": "made", "resourceClaimTemplateName": "template"})
        status["resourceClaimStatuses"] = [
            {"name": entry} | ({"resourceClaimName": made} if made else {})
            for entry, made in generated.items()
        ]
    if extended:
        status["extendedResourceClaimStatus"] = {"resourceClaimName": extended}
    spec: Object = {"resourceClaims": entries}
    if bound_to:
        spec["nodeName"] = bound_to
    meta = {"name": name, "namespace": NAMESPACE, "uid": name}
    return Event({"kind": "Pod", "metadata": meta, "spec": spec, "status": status})


# ------------------------------------------------------------------------------ evidence


def record(events: Iterable[Event | None], *, second_ns: int = SECOND_NS) -> list[records.Body]:
    """The records of events, each a second after the one before; None: something else."""
    return [
        recorded(event, version, second_ns)
        for version, event in enumerate(events, start=1)
        if event is not None
    ]


def evidence(
    events: Iterable[Event | None],
    plan: plans.Plan | None = None,
    views: Mapping[str, int] | None = None,
    *,
    gap: str = "",
    second_ns: int = SECOND_NS,
) -> protocol.Evidence:
    """The evidence of events. `views`: claim -> the version of the slices that its scheduler knew.

    `gap`: a resource whose watch had a gap before everything.
    """
    known = {name: device_timelines.View(version) for name, version in (views or {}).items()}
    values = {device_timelines.AttemptViews: device_timelines.AttemptViews(known)}
    gaps = [language.gap(gap, 0)] if gap else []
    body = [*gaps, *record(events, second_ns=second_ns)]
    return protocol.Evidence(plan or building.plan(), values).fold(body, NEEDS)


def observed(event: Event, version: int) -> Any:
    return observations.decode(recorded(event, version))


def recorded(event: Event, version: int, second_ns: int = SECOND_NS) -> records.Observation:
    value = {**event.obj, "metadata": {**event.obj["metadata"], "resourceVersion": str(version)}}
    resource, at_ns = RESOURCES[event.obj["kind"]], version * second_ns
    return language.observation(resource, version, value, event.type, ts_ns=at_ns)
