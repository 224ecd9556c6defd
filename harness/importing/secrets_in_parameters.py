"""Takes the values of opaque parameters away whose keys say that they are secret."""

import re
from collections.abc import Mapping
from typing import Any

from harness.importing import materials, redaction, workload_sets
from harness.model.objects import Object

_SECRET = re.compile(
    r"secret|password|passwd|token|credential|private|api.?key|auth", re.IGNORECASE
)


def remove(found: materials.Materials, sets: list[workload_sets.WorkloadSet]) -> None:
    """Replace these values in the classes, claims and templates of an import, in place."""
    specs = [obj["spec"] for obj in found.classes]
    specs += [
        materials.claim_spec(obj).get("devices") or {}
        for one in sets
        for obj in one.objects
        if obj["kind"] in (materials.CLAIM, materials.TEMPLATE)
    ]
    for spec in specs:
        for item in spec.get("config") or []:
            _remove_from(item.get("opaque") or {}, found.notes)


def _remove_from(opaque: Object, notes: materials.Notes) -> None:
    if "parameters" in opaque:
        opaque["parameters"] = _cleaned(opaque["parameters"], notes)


def _cleaned(value: Any, notes: materials.Notes) -> Any:
    if isinstance(value, list):
        return [_cleaned(item, notes) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {key: _item(key, item, notes) for key, item in value.items()}


def _item(key: str, value: Any, notes: materials.Notes) -> Any:
    if not _SECRET.search(key) or isinstance(value, bool):
        return _cleaned(value, notes)
    notes.add(f"left out: the value of {key} in opaque parameters")
    return redaction.blank(value)
