"""The objects of a violation as the API server stored them at that moment, in YAML, shortened."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from harness.checks import verdicts
from harness.report.causes import deciding_writes

OBJECTS_MAX = 4
"""Objects that are shown: the claims first."""
LINES_MAX = 60
"""Lines of one object."""
_KINDS = (deciding_writes.CLAIM, deciding_writes.POD)
_META = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "finalizers")
_POD_SPEC = ("nodeName", "schedulerName", "resourceClaims")
_POD_STATUS = ("phase", "resourceClaimStatuses", "extendedResourceClaimStatus")


def moment(violation: verdicts.Violation) -> int | None:
    """Return the newest version that is shown; None: the last one."""
    if isinstance(violation, verdicts.DoubleAllocation):
        return violation.overlap_from_rv
    return max(violation.resource_versions, default=None)


def of(violation: verdicts.Violation, stored: deciding_writes.DecidingWrites) -> list[list[str]]:
    """Return the lines of YAML of each object, in the version that was stored at the moment."""
    is_double = isinstance(violation, verdicts.DoubleAllocation)
    shown = _KINDS[:1] if is_double else _KINDS
    known = (item for item in violation.objects if item.kind in shown)
    ordered = sorted(known, key=lambda item: _KINDS.index(item.kind))
    keys = dict.fromkeys((item.kind, item.namespace, item.name) for item in ordered)
    found, last = [], moment(violation)
    for kind, namespace, name in [*keys][:OBJECTS_MAX]:
        versions = [
            item.object
            for item in stored.versions(kind, namespace, name)
            if not item.is_gone and (last is None or item.resource_version <= last)
        ]
        found += [lines(kind, obj) for obj in versions[-1:]]
    return found


def lines(kind: str, obj: Mapping[str, Any]) -> list[str]:
    """Return an object without what the violation is not about; opaque parameters never."""
    version = "resource.k8s.io/v1" if kind == deciding_writes.CLAIM else "v1"
    shown: dict[str, Any] = {"apiVersion": obj.get("apiVersion", version), "kind": kind}
    shown["metadata"] = _picked(obj.get("metadata"), _META)
    parts = _of_claim(obj) if kind == deciding_writes.CLAIM else _of_pod(obj)
    shown |= {key: part for key, part in parts.items() if part}
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120)
    found = text.splitlines()
    return found if len(found) <= LINES_MAX else [*found[:LINES_MAX], "# …"]


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
    return {key: part for key, part in devices.items() if key != "config"}


def _of_pod(pod: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "spec": _picked(pod.get("spec"), _POD_SPEC),
        "status": _picked(pod.get("status"), _POD_STATUS),
    }


def _picked(part: Any, keys: Iterable[str]) -> dict[str, Any]:
    found = part if isinstance(part, Mapping) else {}
    return {key: found[key] for key in keys if found.get(key)}
