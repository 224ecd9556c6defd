"""The objects of a violation as the API server stored them at that moment, in YAML, shortened."""

from collections.abc import Mapping
from typing import Any

import yaml

from harness.checks import verdicts
from harness.report.causes import deciding_writes

OBJECTS_MAX = 4
"""Objects that are shown: the claims first."""
LINES_MAX = 60
"""Lines of one object."""
_METADATA = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "finalizers")
_OF_POD = (
    *("spec.nodeName", "spec.schedulerName", "spec.resourceClaims", "status.phase"),
    *("status.resourceClaimStatuses", "status.extendedResourceClaimStatus"),
)
_SHOWN = {
    deciding_writes.CLAIM: ("spec.devices", "status.allocation.devices", "status.reservedFor"),
    deciding_writes.POD: _OF_POD,
}
"""Kind -> the places of an object that are shown."""


def moment(violation: verdicts.Violation) -> int | None:
    """Return the newest version that is shown; None: the last one."""
    if isinstance(violation, verdicts.DoubleAllocation):
        return violation.overlap_from_rv
    return max(violation.resource_versions, default=None)


def of(violation: verdicts.Violation, stored: deciding_writes.DecidingWrites) -> list[list[str]]:
    """Return the lines of YAML of each object, in the version that was stored at the moment."""
    is_double = isinstance(violation, verdicts.DoubleAllocation)
    kinds = [*_SHOWN][:1] if is_double else [*_SHOWN]
    known = (item for item in violation.objects if item.kind in kinds)
    ordered = sorted(known, key=lambda item: kinds.index(item.kind))
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
    for place in (*(f"metadata.{key}" for key in _METADATA), *_SHOWN[kind]):
        for key, part in _picked(obj, place).items():
            shown.setdefault(key, {}).update(part)
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120)
    found = text.splitlines()
    return found if len(found) <= LINES_MAX else [*found[:LINES_MAX], "# …"]


def _picked(part: Any, place: str) -> dict[str, Any]:
    """Return what is at a place, below the keys that lead to it; empty if nothing is there."""
    key, _, below = place.partition(".")
    found = part.get(key) if isinstance(part, Mapping) else None
    if below:
        found = _picked(found, below)
    elif isinstance(found, Mapping):
        found = {name: value for name, value in found.items() if name != "config"}
    return {key: found} if found else {}
