"""The kinds of objects that make pods, as data: where the pods' templates are, and how many pods.

Objects of other projects become Jobs and Deployments with as many pods. No controller is needed.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.manifests import places, sources
from harness.model.objects import Object

TEMPLATES: Mapping[str, str] = {
    "Pod": "",
    "CronJob": "spec.jobTemplate.spec.template",
    **dict.fromkeys(("Job", "Deployment", "ReplicaSet"), "spec.template"),
    **dict.fromkeys(("StatefulSet", "DaemonSet"), "spec.template"),
}
"""Kind -> place of its pods' template; empty: it is a pod."""
PER_NODE = "DaemonSet"
"""The kind with a pod on each node."""


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """Pods with one template. In places, `a|b` means a, or else b; a missing count is 1."""

    name: str
    """The end of the name of what it becomes; with `each`: the place of that in an entry."""
    template: str
    counts: str = ""
    """Places of the numbers whose product is that of the pods; `size-1`: one less than the size."""
    each: str = ""
    """The place of a list whose entries are such parts, with places of their own; empty: none."""
    made: str = "Deployment"


_LWS = "spec.leaderWorkerTemplate"
PARTS: Mapping[tuple[str, str], tuple[Part, ...]] = {
    ("jobset.x-k8s.io", "JobSet"): (
        Part(
            "name",
            "template.spec.template",
            "replicas * template.spec.parallelism",
            "spec.replicatedJobs",
            "Job",
        ),
    ),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        Part("leader", f"{_LWS}.leaderTemplate|{_LWS}.workerTemplate", "spec.replicas"),
        Part("worker", f"{_LWS}.workerTemplate", f"spec.replicas * {_LWS}.size-1"),
    ),
    ("ray.io", "RayCluster"): (
        Part("head", "spec.headGroupSpec.template"),
        Part("groupName", "template", "replicas|minReplicas * numOfHosts", "spec.workerGroupSpecs"),
    ),
}
"""Group and kind of objects of other projects -> their parts."""


def expanded(manifest: sources.Manifest) -> list[sources.Manifest]:
    """Return what an object of PARTS becomes, none without pods; any other object as it is.

    Raises ManifestError for a part without a template, and for a count that is no number.
    """
    parts = parts_of(manifest.obj)
    if not parts:
        return [manifest]
    return [one for part in parts for one in _made(manifest, part)]


def parts_of(obj: Object) -> tuple[Part, ...]:
    """Return the parts of an object of another project; empty for any other."""
    return PARTS.get((str(obj.get("apiVersion")).partition("/")[0], obj["kind"]), ())


def unused(obj: Object) -> Iterator[str]:
    """Yield the keys of an object of PARTS that its pods are not made of, as text."""
    parts, spec = parts_of(obj), obj.get("spec")
    named = " ".join(f"{part.each} {part.template} {part.counts}" for part in parts)
    used = {"suspend", *re.findall(r"(?<![\w.])spec\.(\w+)", named)}
    for key, found in spec.items() if parts and isinstance(spec, dict) else ():
        if found and key not in used:
            yield f"{key} of a {obj['kind']}"


def _made(manifest: sources.Manifest, part: Part) -> Iterator[sources.Manifest]:
    entries = places.each(manifest.obj, f"{part.each}[]") if part.each else [manifest.obj]
    for index, entry in enumerate(entries):
        where = f"{part.each}[{index}]." if part.each else ""
        name = places.value(entry, part.name) if part.each else part.name
        template = places.value(entry, part.template)
        if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
            field = f"{where}{part.template.partition('|')[0]}"
            raise manifest.error("expected a template of pods", field=field)
        pods = 1
        for place in filter(None, part.counts.split(" * ")):
            pods *= _count(manifest, entry, place, where)
        if pods:
            yield _one(manifest, part.made, str(name), template, pods)


def _count(manifest: sources.Manifest, entry: Any, place: str, where: str) -> int:
    keys, _, less = place.partition("-")
    found = places.value(entry, keys)
    if found is None:
        found = 1
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        field = f"{where}{keys.partition('|')[0]}"
        raise manifest.error(f"expected a number from 0 on, got {found!r:.40}", field=field)
    return max(0, found - int(less or 0))


def _one(
    manifest: sources.Manifest, kind: str, name: str, template: Object, pods: int
) -> sources.Manifest:
    spec: Object = {"replicas": pods, "template": template}
    if kind == "Job":  # with the restart policy that the controller of JobSets chooses
        template = {**template, "spec": {"restartPolicy": "OnFailure", **template["spec"]}}
        spec = {"completions": pods, "parallelism": pods, "template": template}
    if places.value(manifest.obj, "spec.suspend"):
        spec["suspend"] = True
    metadata = {**manifest.obj["metadata"]}
    base = metadata.pop("generateName", "").rstrip("-.") or manifest.name
    metadata["name"] = f"{base}-{name}"
    version = "batch/v1" if kind == "Job" else "apps/v1"
    obj = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    return sources.Manifest(obj=obj, source=manifest.source)
