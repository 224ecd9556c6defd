"""Reads the files of `traffic.objects` into sets, and leaves out what a run has no use for.

A scenario that has sets already, as that of a plan, is not read again.
"""

import copy
import pathlib
from typing import Any

from harness import errors
from harness.manifests import places, reading, sources, workload_kinds
from harness.scenario.object_sets import set_specs

KEY = "traffic.objects"
_KINDS = (*set_specs.KINDS, *(kind for _, kind in workload_kinds.PARTS))
_UNUSED = ("ConfigMap", "Namespace", "Secret", "Service", "ServiceAccount")
"""Kinds without which the pods of a run do the same."""
_OF_POOLS = ("DeviceClass", "DeviceTaintRule", "Node", "ResourceSlice")
_OF_POD = (
    *("ephemeralContainers", "nodeName", "overhead", "preemptionPolicy", "priority"),
    *("priorityClassName", "runtimeClassName", "schedulerName", "serviceAccount"),
    *("serviceAccountName", "volumes"),
)
"""Keys of a pod that name what a run has not, or decides itself."""
OF_GROUP = ("podGroupTemplateRef", "priority", "priorityClassName", "schedulingConstraints")
"""Keys of a PodGroup of which the same holds."""
_OF_CONTAINER = ("volumeDevices", "volumeMounts")
_SILENT = ("schedulerName", "serviceAccount", *_OF_CONTAINER)
"""Keys of which nothing is said: the run says them, or another key that is left out does."""
_GROUP_VERSION = "scheduling.k8s.io/v1alpha2"
"""Other projects have a kind PodGroup, too."""
_NO_AMOUNT = "ephemeral-storage"
"""A resource that fake nodes do not offer."""


def with_sets(document: dict[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """Return the document of a scenario with the sets of the files of its traffic.

    Files are relative to `folder`. Raises ManifestError for one that cannot be used. Anything but a
    list of file names is left to the validation of the scenario.
    """
    traffic = next(places.tables(document, "traffic"), {})
    files = traffic.get("objects")
    if traffic.get("profile") != "objects" or traffic.get("sets") or not isinstance(files, list):
        return document
    if not all(isinstance(file, str) and file for file in files):
        return document
    sets = [_set(file, folder) for file in files[: set_specs.SETS_MAX + 1]]
    named = {"objects": [one["file"] for one in sets], "sets": sets}
    return {**document, "traffic": {**traffic, **named}}


def _set(file: str, folder: pathlib.Path) -> dict[str, Any]:
    left_out: dict[str, None] = {}
    objects = []
    for manifest in reading.read([str(folder / file)], of=KEY):
        if manifest.kind in _UNUSED:
            left_out[f"{manifest.kind} {manifest.name}"] = None
            continue
        left_out |= dict.fromkeys(workload_kinds.unused(manifest.obj))
        objects += [
            {
                "at": str(one.source).removeprefix(f"{one.source.path}, "),
                "manifest": _usable(one, left_out),
            }
            for one in workload_kinds.expanded(manifest)
        ]
    if not objects:
        raise errors.ManifestError(
            f"{folder / file}: expected objects that users create ({', '.join(_KINDS)}) in "
            f"{KEY}, got none"
        )
    return {"file": pathlib.PurePath(file).name, "objects": objects, "left_out": list(left_out)}


def _usable(manifest: sources.Manifest, left_out: dict[str, None]) -> set_specs.Manifest:
    if manifest.kind in _OF_POOLS:
        raise manifest.error(
            f"expected no {manifest.kind} in {KEY}: move it to a file that pools.from names"
        )
    is_foreign = manifest.kind == set_specs.POD_GROUP and manifest.api_version != _GROUP_VERSION
    if manifest.kind not in set_specs.KINDS or is_foreign:
        raise manifest.error(
            f"expected one of {', '.join(_KINDS)} in {KEY}, got {manifest.kind} of "
            f"{manifest.api_version}; write its pods as one of them, or remove it"
        )
    made = _used(manifest.obj, left_out)
    if why := set_specs.problem(made):
        raise manifest.error(why)
    return made


# ------------------------------------------------------------------------- leaving out


def _used(obj: set_specs.Manifest, left_out: dict[str, None]) -> set_specs.Manifest:
    metadata = {**obj["metadata"]}
    metadata.pop("namespace", None)
    base = metadata.pop("generateName", "").rstrip("-.")
    metadata.setdefault("name", base)
    made, spec = {**obj, "metadata": metadata}, obj.get("spec")
    if isinstance(spec, dict) and obj["kind"] == set_specs.POD_GROUP:
        made["spec"] = _without(spec, OF_GROUP, left_out)
    elif isinstance(spec, dict) and obj["kind"] in workload_kinds.TEMPLATES:
        made["spec"] = _pods(spec, left_out)
    return {key: _without_null(value) for key, value in made.items() if value is not None}


def _pods(spec: dict[str, Any], left_out: dict[str, None]) -> dict[str, Any]:
    for key in ("jobTemplate", "template"):
        if isinstance(below := spec.get(key), dict):
            inner = below.get("spec")
            changed = _pods(inner, left_out) if isinstance(inner, dict) else inner
            return {**spec, key: {**below, "spec": changed}}
    kept: dict[str, Any] = copy.deepcopy(_without(spec, _OF_POD, left_out))
    for kind in ("initContainers[]", "containers[]"):
        for container in places.tables(kept, kind):
            _drop(container, _OF_CONTAINER, left_out)
            for amounts in ("requests", "limits"):
                for table in places.tables(container, f"resources.{amounts}"):
                    _drop(table, (_NO_AMOUNT,), left_out)
    return kept


def _drop(table: dict[str, Any], keys: tuple[str, ...], left_out: dict[str, None]) -> None:
    kept = _without(table, keys, left_out)
    table.clear()
    table.update(kept)


def _without(
    table: dict[str, Any], keys: tuple[str, ...], left_out: dict[str, None]
) -> dict[str, Any]:
    for key in keys:
        if table.get(key) and key not in _SILENT:
            left_out[f"{key} of pods"] = None
    return {key: value for key, value in table.items() if key not in keys}


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_null(item) for item in value if item is not None]
    return value
