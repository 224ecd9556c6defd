"""Judges whether claims get what they asked for, where they can use it.

The devices of an allocation are on the nodes of its node selector, and keep the claim's constraints
on attributes. Results repeat the tolerations of their requests, and the allocation each
configuration of the claim once. Allocations are compared with the slices at the time of their
commit.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.apiserver.storage import watch_cache
from harness.explore.worlds.oracles import offered_devices
from harness.model.objects import Object


class ReadyDevices:
    """Watches claims and pods; each pod uses claims by their names."""

    def __init__(self) -> None:
        self._claims: dict[str, Object] = {}
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource.plural == "resourceclaims":
            self._claims[commit.object.name] = msgspec.json.decode(commit.object.data)
        elif commit.resource.plural == "pods" and b'"nodeName"' in commit.object.data:
            pod = msgspec.json.decode(commit.object.data)
            self.finding = self.finding or next(self._faults(pod), None)

    def _faults(self, pod: Object) -> Iterator[str]:
        for entry in pod["spec"].get("resourceClaims") or ():
            name = entry.get("resourceClaimName")
            for device in _not_ready(self._claims.get(name, {})):
                yield f"bound: {pod['metadata']['name']} is bound, but {device} is not ready"


def _not_ready(claim: Object) -> Iterator[str]:
    """Yield the devices of an allocated claim whose conditions are not all true."""
    status = claim.get("status", {})
    results = (status.get("allocation") or {}).get("devices", {}).get("results") or ()
    reported = {item["device"]: item.get("conditions") or () for item in status.get("devices", ())}
    for result in results:
        true = {
            item["type"] for item in reported.get(result["device"], ()) if item["status"] == "True"
        }
        if set(result.get("bindingConditions") or ()) - true:
            yield str(result["device"])


Device = tuple[str, str, str]
"""Driver, pool and name."""


class AskedDevices:
    """Watches claims and slices."""

    def __init__(self) -> None:
        self._slices: dict[str, Object] = {}
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.type == "DELETED":
            self._slices.pop(commit.object.name, None)
        elif commit.resource.plural == "resourceslices":
            self._slices[commit.object.name] = msgspec.json.decode(commit.object.data)["spec"]
        elif commit.resource.plural == "resourceclaims" and self.finding is None:
            self.finding = next(self._faults(msgspec.json.decode(commit.object.data)), None)

    def _faults(self, claim: Object) -> Iterator[str]:
        allocation = claim.get("status", {}).get("allocation")
        if allocation is None:
            return
        name, devices = claim["metadata"]["name"], self._devices()
        results = allocation["devices"]["results"]
        for result in results:
            spec, _ = devices.get(_device_of(result), ({}, {}))
            nodes = _nodes_of(allocation)
            if nodes and spec.get("nodeName", nodes[0]) not in nodes:
                yield f"place: {result['device']} of {name} is on {spec['nodeName']}, not {nodes}"
        for constraint in claim["spec"]["devices"].get("constraints") or ():
            covered = [_result_of(devices, item) for item in results if _covers(constraint, item)]
            if not _holds(constraint, covered):
                yield f"constraint: the devices of {name} violate {constraint}"
        yield from _wrong_copies(claim["spec"]["devices"], allocation["devices"])

    def _devices(self) -> dict[Device, tuple[Object, Object]]:
        return {
            (spec["driver"], spec["pool"]["name"], device["name"]): (spec, device)
            for spec in self._slices.values()
            for device in spec.get("devices") or ()
        }


def _wrong_copies(asked: Object, allocated: Object) -> Iterator[str]:
    wishes = [wish for item in asked["requests"] for wish in offered_devices.wishes(item)]
    tolerations = {wish.name: wish.wanted.get("tolerations") for wish in wishes}
    for result in allocated["results"]:
        if tolerations.get(result["request"]) != result.get("tolerations"):
            yield f"copies: {result['device']} was allocated with other tolerations"
    known = [{"source": "FromClaim", **item} for item in asked.get("config") or ()]
    for item in allocated.get("config") or ():
        if item["source"] == "FromClaim":
            if item not in known:
                yield f"copies: the claim has no configuration {item}, or has it once"
            else:
                known.remove(item)


def _result_of(devices: dict[Device, tuple[Object, Object]], result: Object) -> Object:
    _, device = devices.get(_device_of(result), ({}, {}))
    attributes: Object = device.get("attributes") or {}
    return attributes


def _covers(constraint: Object, result: Object) -> bool:
    names = constraint.get("requests")
    return not names or result["request"] in names or result["request"].split("/")[0] in names


def _holds(constraint: Object, attributes: list[Object]) -> bool:
    key = str(constraint.get("matchAttribute") or constraint.get("distinctAttribute"))
    values = [_values(item.get(key)) for item in attributes]
    if not all(values):
        return False
    if "matchAttribute" in constraint:
        return not values or bool(set.intersection(*values))
    return all(one.isdisjoint(other) for one, other in itertools.combinations(values, 2))


def _values(attribute: Object | None) -> set[tuple[str, Any]]:
    return {
        (kind.removesuffix("s"), value)
        for kind, given in (attribute or {}).items()
        for value in (given if isinstance(given, list) else [given])
    }


def _device_of(result: Object) -> Device:
    return result["driver"], result["pool"], result["device"]


def _nodes_of(allocation: Object) -> list[str]:
    """Return the nodes that the selector names; empty: it names none."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
    fields = (field for term in terms for field in term.get("matchFields") or ())
    return [node for field in fields for node in field["values"]]
