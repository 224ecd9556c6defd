"""Small worlds of pods, claims and slices at the end of a run, as a recorder writes them down."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from harness.checks import protocol
from harness.checks.holds import hold_history
from harness.checks.observed import observations
from harness.checks.progress import resource_leaks, world_states
from harness.history import plans, records
from tests.histories import building, language

NAMESPACE, DRIVER, CLASS = "tests", "gpu.example", "flake-hunt"
SETTINGS: dict[str, Any] = {
    "pools": {"driver": DRIVER, "owner": "", "device_class": {"name": CLASS, "selectors": []}}
}
FINALIZER = "resource.kubernetes.io/delete-protection"
SECOND_NS = 1_000_000_000
Object = dict[str, Any]


def device(node: str, index: int) -> str:
    return f"{DRIVER}/{node}/d{index}"


def pod(
    name: str,
    *,
    claim: str = "",
    phase: str = "Pending",
    node: str = "",
    deleting: bool = False,
    generated: str | None = None,
    gated: bool = False,
) -> Object:
    """A pod with a named claim, or one from a template, whose claim is `generated` (empty: no
    claim yet).
    """
    entry = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": "template"}
    spec: Object = {"resourceClaims": [{"name": "device", **entry}]}
    if node:
        spec["nodeName"] = node
    if gated:
        spec["schedulingGates"] = [{"name": "later"}]
    status: Object = {"phase": phase}
    if generated:
        status["resourceClaimStatuses"] = [{"name": "device", "resourceClaimName": generated}]
    return {"metadata": _meta(name, deleting=deleting), "spec": spec, "status": status}


def claim(
    name: str,
    *devices: str,
    users: Sequence[str] = (),
    owner: str = "",
    deleting: bool = False,
    finalizer: bool = False,
    count: int = 1,
    **exactly: Any,
) -> Object:
    meta = _meta(name, deleting=deleting)
    if finalizer:
        meta["finalizers"] = [FINALIZER]
    if owner:
        meta["ownerReferences"] = [{"kind": "Pod", "uid": f"uid-{owner}", "controller": True}]
    request = {"name": "device", "exactly": {"deviceClassName": CLASS, "count": count, **exactly}}
    status: Object = {}
    if devices:
        results = [
            {"request": "device", **dict(zip(("driver", "pool", "device"), item.split("/"), strict=True))}
            for item in devices
        ]  # fmt: skip
        status["allocation"] = {"devices": {"results": results}}
    if users:
        status["reservedFor"] = [
            {"resource": "pods", "name": user, "uid": f"uid-{user}"} for user in users
        ]
    return {"metadata": meta, "spec": {"devices": {"requests": [request]}}, "status": status}


def devices_of(node: str, count: int, **fields: Any) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"d{index}", **fields} for index in range(count)]
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": listed}
    return {"metadata": {**_meta(f"slice-{node}"), "namespace": ""}, "spec": spec}


def taint_rule(name: str, **selector: str) -> Object:
    """A DeviceTaintRule for the devices that it selects; without a selector, for all."""
    taint = {"key": "broken", "effect": "NoSchedule"}
    return {"metadata": _meta(name), "spec": {"deviceSelector": selector, "taint": taint}}


def device_class(name: str, *expressions: str, extended: str = "") -> Object:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    spec = {"selectors": selectors, "extendedResourceName": extended}
    return {"metadata": _meta(name), "spec": spec}


def node(name: str, **labels: str) -> Object:
    return {"metadata": _meta(name) | {"labels": labels}}


def _meta(name: str, *, deleting: bool = False) -> Object:
    meta = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "0"}
    return meta | ({"deletionTimestamp": "2026-01-31T00:00:00Z"} if deleting else {})


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """Objects as they are at the end, in the order in which they came."""

    pods: Sequence[Object] = ()
    claims: Sequence[Object] = ()
    slices: Sequence[Object] = ()
    taint_rules: Sequence[Object] = ()
    classes: Sequence[Object] = ()
    nodes: Sequence[Object] = ()

    def observations(self) -> list[records.Body]:
        """The records of a recorder: all objects came within the first second of the load."""
        tables = {
            world_states.SLICES: self.slices,
            observations.TAINT_RULES: self.taint_rules,
            observations.CLASSES: self.classes,
            observations.NODES: self.nodes,
            world_states.CLAIMS: self.claims,
            world_states.PODS: self.pods,
        }
        versions = itertools.count(1)
        numbered = {name: [(next(versions), item) for item in tables[name]] for name in tables}
        body: list[records.Body] = [language.listed(name, "first", 0, ts_ns=0) for name in tables]
        for name, items in numbered.items():
            body += [_observation(name, "ADDED", *item) for item in items]
        for name, items in numbered.items():
            body.append(language.listed(name, "final", 1000, len(items), 0))
            body += [_observation(name, "FINAL", *item) for item in items]
        return body


def removed(claim: Object) -> records.Observation:
    return _observation(world_states.CLAIMS, "DELETED", 900, claim)


def _observation(resource: str, kind: Any, version: int, item: Object) -> records.Observation:
    value = {**item, "metadata": {**item["metadata"], "resourceVersion": str(version)}}
    return language.observation(resource, version, value, kind, ts_ns=version)


def phases(*, seconds: float, healed: float | None = None) -> tuple[records.Phase, ...]:
    """The phases of a run that stops this long after its load."""
    found = [("starting the scheduler", 0.0), ("load", 0.0), ("scheduling", 1.0)]
    if healed is not None:
        found.append(("faults healed", healed))
    found += [("progress", max(1.0, healed or 0.0)), ("stopping", 1.0 + seconds)]
    return tuple(records.Phase(name=name, ts_ns=int(at * SECOND_NS)) for name, at in found)


def plan(*, progress_s: float = 10.0, faults: bool = False) -> plans.Plan:
    lost = plans.PlannedFault(
        name="lose-response", kind="lose-response", carrier="server", text="answers are lost"
    )
    return msgspec.structs.replace(
        building.plan(), progress_s=progress_s, settings=SETTINGS, faults=[lost] if faults else []
    )


def judged(
    world: World | Sequence[records.Body],
    *,
    plan: plans.Plan,
    phases: Sequence[records.Phase] = (),
    collects_garbage: bool = True,
) -> protocol.Evidence:
    """The input of a check after a run that ended in this world."""
    body = world.observations() if isinstance(world, World) else world
    given = {
        resource_leaks.GarbageCollection: resource_leaks.GarbageCollection(works=collects_garbage)
    }
    evidence = protocol.Evidence(plan, given, phases=tuple(phases))
    return evidence.fold(body, [world_states.WorldState, hold_history.HoldHistory])
