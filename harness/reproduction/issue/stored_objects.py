"""The objects of a violation as the API server stored them at that moment, in YAML, shortened."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import yaml

from harness.checks import verdicts
from harness.history import records

OBJECTS_MAX = 4
"""Objects that are shown: the claims first."""
LINES_MAX = 60
"""Lines of one object."""
_RESOURCES = {"resourceclaims": "ResourceClaim", "pods": "Pod"}
_META = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "finalizers")
_POD_SPEC = ("nodeName", "schedulerName", "resourceClaims")
_POD_STATUS = ("phase", "resourceClaimStatuses", "extendedResourceClaimStatus")
_REQUEST_LEFT_OUT = ("config",)


class Wanted(msgspec.Struct, frozen=True):
    """The objects to look for."""

    keys: dict[tuple[str, str, str], int]
    """Kind, namespace and name -> place in the order in which they are shown."""
    resource_version: int | None
    """The newest version that is shown; None: the last one."""


def wanted(violation: verdicts.Violation) -> Wanted:
    if isinstance(violation, verdicts.DoubleAllocation):
        found = [("ResourceClaim", item.namespace, item.name) for item in violation.holders]
        moment: int | None = violation.overlap_from_rv
    else:
        objects = sorted(violation.objects, key=lambda item: item.kind != "ResourceClaim")
        found = [(item.kind, item.namespace, item.name) for item in objects]
        moment = max(violation.resource_versions, default=None)
    known = dict.fromkeys(key for key in found if key[0] in _RESOURCES.values())
    return Wanted({key: place for place, key in enumerate([*known][:OBJECTS_MAX])}, moment)


def of(observations: Iterable[records.Body], of_violation: Wanted) -> list[list[str]]:
    """Return the lines of YAML of each object, in the version that was stored at the moment."""
    moment = of_violation.resource_version
    found = {
        key: obj
        for key, version, obj in _versions(observations, of_violation)
        if moment is None or version <= moment
    }
    order = sorted(found, key=lambda key: of_violation.keys[key])
    return [_lines(key[0], found[key]) for key in order]


def _versions(
    observations: Iterable[records.Body], of_violation: Wanted
) -> Iterator[tuple[tuple[str, str, str], int, Mapping[str, Any]]]:
    names = {name.encode() for _, _, name in of_violation.keys}
    for item in observations:
        if not isinstance(item, records.Observation) or item.resource not in _RESOURCES:
            continue
        raw = bytes(item.object)
        if item.type in ("DELETED", "FINAL") or not any(name in raw for name in names):
            continue
        obj = msgspec.json.decode(raw)
        meta = obj.get("metadata") or {}
        key = (_RESOURCES[item.resource], str(meta.get("namespace", "")), str(meta.get("name")))
        if key in of_violation.keys:
            yield key, item.resource_version, obj


def _lines(kind: str, obj: Mapping[str, Any]) -> list[str]:
    """Return an object without what the violation is not about; opaque parameters never."""
    version = "resource.k8s.io/v1" if kind == "ResourceClaim" else "v1"
    shown: dict[str, Any] = {"apiVersion": obj.get("apiVersion", version), "kind": kind}
    shown["metadata"] = _picked(obj.get("metadata"), _META)
    parts = _of_claim(obj) if kind == "ResourceClaim" else _of_pod(obj)
    shown |= {key: part for key, part in parts.items() if part}
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120)
    lines = text.splitlines()
    return lines if len(lines) <= LINES_MAX else [*lines[:LINES_MAX], "# …"]


def _of_claim(claim: Mapping[str, Any]) -> dict[str, Any]:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    allocation = status.get("allocation") or {}
    devices = _without_config(allocation.get("devices") or {})
    stored = {"allocation": {"devices": devices} if allocation else None}
    stored["reservedFor"] = status.get("reservedFor")
    return {
        "spec": {"devices": _without_config(spec.get("devices") or {})} if spec else {},
        "status": {key: part for key, part in stored.items() if part},
    }


def _without_config(devices: Mapping[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in devices.items() if key not in _REQUEST_LEFT_OUT}


def _of_pod(pod: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "spec": _picked(pod.get("spec"), _POD_SPEC),
        "status": _picked(pod.get("status"), _POD_STATUS),
    }


def _picked(part: Any, keys: Iterable[str]) -> dict[str, Any]:
    found = part if isinstance(part, Mapping) else {}
    return {key: found[key] for key in keys if found.get(key)}
