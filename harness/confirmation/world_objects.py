"""The objects of a world, as a script has them: pools, claims, templates and pods."""

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any

from harness import errors
from harness.apiserver.storage import watch_cache
from harness.explore.worlds import world_fixtures
from harness.explore.worlds.scheduling import extended_claims
from harness.model import naming
from harness.model.objects import Object
from harness.scenario import pool_specs

_INDEX = re.compile(r"-(\d+)$")
_SYSTEM = ("namespaces", "serviceaccounts", "configmaps")
"""Resources whose objects every cluster has."""
_KINDS = ("resourceclaims", "resourceclaimtemplates", "pods")
_OWN_KEYS = frozenset({"schedulerName", "containers", "resourceClaims", "nodeName", "nodeSelector"})
"""Keys of a pod's spec that are translated; the others are the API server's defaults."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The beginning of a world."""

    nodes: int
    devices_per_node: int
    objects: list[watch_cache.Commit]
    """The claims, templates and pods that are there from the beginning."""


def of_world(commits: Iterable[watch_cache.Commit]) -> Setup:
    """Return the beginning of a world from the commits that created it.

    Raises UsageError for a world that a script cannot have.
    """
    nodes: list[str] = []
    slices: list[Object] = []
    objects = []
    for commit in commits:
        plural = commit.resource.plural
        if plural == "nodes":
            nodes.append(commit.object.name)
        elif plural == "resourceslices":
            slices.append(commit.object.document()["spec"])
        elif plural in _KINDS:
            objects.append(commit)
        elif plural not in (*_SYSTEM, "deviceclasses"):
            raise cannot(f"it has {plural}")
    return Setup(
        nodes=max(len(nodes), 1), devices_per_node=_devices(nodes, slices), objects=objects
    )


def cannot(why: str) -> errors.UsageError:
    """Return the error for a world that a script cannot have; `why` ends the sentence."""
    return errors.UsageError(
        "expected a world of which a script can be made: plain claims and devices, the same number "
        f"on each node; but {why}. Its finding can be confirmed by a script of your own "
        "(docs/how-to/confirm.md)"
    )


def _devices(nodes: Sequence[str], slices: Sequence[Object]) -> int:
    """Return the number of devices of each node; 1 if the world has none."""
    if any(_is_special(item) for item in slices):
        raise cannot("its devices have attributes, capacities, taints or conditions")
    counts = {len(item.get("devices") or ()) for item in slices}
    if len(counts) > 1 or (slices and {item.get("nodeName") for item in slices} != set(nodes)):
        raise cannot("its nodes have different devices")
    return max(counts, default=1)


def _is_special(spec: Object) -> bool:
    pool = spec["pool"]
    devices = spec.get("devices") or ()
    return pool.get("resourceSliceCount") != 1 or any(set(item) != {"name"} for item in devices)


def script_object(commit: watch_cache.Commit, schedulers: Sequence[str]) -> Object:
    """Return a claim, template or pod as an entry of the key `objects` of a script.

    `schedulers`: the names of the world's schedulers. Raises UsageError if a script cannot have it.
    """
    document = commit.object.document()
    made: Object = {"kind": document["kind"], "name": commit.object.name}
    if document["kind"] == "Pod":
        return made | _pod(document["spec"], schedulers)
    spec = document["spec"]["spec"] if "template" in document["kind"].lower() else document["spec"]
    requests = spec["devices"].get("requests", ())
    plain = {"deviceClassName", "allocationMode", "count"}
    if len(requests) != 1 or set(requests[0].get("exactly", {"": 0})) - plain:
        raise cannot("its claims ask for more than one plain device")
    return made


def _pod(spec: Object, schedulers: Sequence[str]) -> Object:
    entries = spec.get("resourceClaims") or ()
    made: Object = {
        "claims": [item["resourceClaimName"] for item in entries if "resourceClaimName" in item],
        "templates": [
            item["resourceClaimTemplateName"]
            for item in entries
            if "resourceClaimTemplateName" in item
        ],
        "extended": _is_extended(spec),
        "node": spec.get("nodeName", ""),
    }
    if selector := spec.get("nodeSelector"):
        made["spec"] = {"nodeSelector": {"kubernetes.io/hostname": selector["node"]}}
    if spec["schedulerName"] in schedulers:  # or else the world has none
        made["scheduler"] = list(schedulers).index(spec["schedulerName"])
    return {key: value for key, value in made.items() if value}


def _is_extended(spec: Object) -> bool:
    resources = spec["containers"][0].get("resources", {})
    return extended_claims.RESOURCE in resources.get("limits", {})


def translated(value: Any) -> Any:
    """Return a part of a world's status with the drivers and devices of a run."""
    if isinstance(value, list):
        return [translated(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: translated(item) for key, item in value.items()}
    if made.get("driver") == world_fixtures.DRIVER:
        made["driver"] = pool_specs.PoolsSpec().driver
        if "device" in made and (index := _INDEX.search(made["device"])):
            made["device"] = naming.device(made["pool"], int(index[1]))
    return made


def merge_patch(before: Any, after: Any) -> Any:
    """Return the JSON merge patch from one state to another."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    gone = {key: None for key in before if key not in after}
    changed = {
        key: merge_patch(before.get(key), value)
        for key, value in after.items()
        if before.get(key) != value
    }
    return gone | changed
