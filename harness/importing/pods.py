"""Cuts workloads down to what decides where their pods and devices go.

Everything else stays behind: commands, variables, volumes and accounts may have secrets, and the
kubelets of a run start nothing.
"""

from collections.abc import Collection, Mapping
from typing import Any

from harness.importing import materials
from harness.manifests import places, workload_kinds
from harness.model.objects import Object

_OF_POD = (
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "nodeSelector",
    "affinity",
    "tolerations",
    "resources",
    "schedulingGroup",
)
_OF_CONTAINER = ("name", "image", "restartPolicy", "resources")
_AFFINITY = "nodeAffinity"
"""Affinities to other pods are nothing that every scheduler of a run knows."""
_AMOUNTS = ("cpu", "memory")
"""Resources that nodes offer in a run, beside those of classes."""
_COUNTS = ("completions", "parallelism", "replicas")
PODS_MAX = 8
"""Pods of one workload; they all have to run at once."""
_OF_WORKLOAD = {
    "Job": ("completions", "parallelism", "completionMode"),
    "CronJob": ("schedule",),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet"), ("replicas", "selector")),
    workload_kinds.PER_NODE: ("selector",),
}
_SILENT = {
    *("affinity", "backoffLimit", "concurrencyPolicy", "dnsPolicy", "enableServiceLinks"),
    *("ephemeral-storage", "failedJobsHistoryLimit", "imagePullPolicy", "manualSelector"),
    *("nodeName", "podManagementPolicy", "podReplacementPolicy", "preemptionPolicy", "priority"),
    *("progressDeadlineSeconds", "revisionHistoryLimit", "schedulerName", "serviceAccount"),
    *("strategy", "successfulJobsHistoryLimit", "suspend", "terminationMessagePath"),
    *("terminationMessagePolicy", "updateStrategy"),
}
"""Keys of which nothing is said: API servers add them, or they decide nothing here."""


def cut_down(
    workload: Object, resources: Collection[str], notes: materials.Notes, *, nodes: int = 0
) -> Object:
    """Return a workload without what a run has no use for; `notes` get the rest.

    `resources` are the extended resources that classes offer, `nodes` the number of the run's.
    """
    kind, spec = workload["kind"], workload.get("spec") or {}
    if kind == workload_kinds.PER_NODE and nodes > PODS_MAX:
        kind, spec = "Deployment", {**spec, "replicas": nodes}
    outer: Object = {"apiVersion": workload["apiVersion"], "kind": kind}
    outer["metadata"] = {"name": materials.name_of(workload)}
    pod = _pod(spec_of(workload), resources, notes)
    labels = places.value(materials.pod_template(workload), "metadata.labels")
    metadata = {"labels": labels} if labels else {}
    if kind == materials.POD:
        return {**outer, "metadata": {**outer["metadata"], **metadata}, "spec": pod}
    inner = {"metadata": metadata, "spec": pod}
    kept = _fewer(_kept(spec, _OF_WORKLOAD[kind], notes, f"of a {kind}"), notes)
    if kind == "CronJob":
        job = places.value(spec, "jobTemplate.spec") or {}
        kept_job = _fewer(_kept(job, _OF_WORKLOAD["Job"], notes, "of a Job"), notes)
        return {**outer, "spec": {**kept, "jobTemplate": {"spec": {**kept_job, "template": inner}}}}
    return {**outer, "spec": {**kept, "template": inner}}


def spec_of(workload: Object) -> Object:
    return places.value(materials.pod_template(workload), "spec") or {}


def count(workload: Object, nodes: int) -> int:
    is_cron = workload["kind"] == "CronJob"
    spec = places.value(workload, "spec.jobTemplate.spec" if is_cron else "spec") or {}
    if workload["kind"] == workload_kinds.PER_NODE:
        return nodes
    if workload["kind"] in (materials.POD, "Job", "CronJob"):
        return int(spec.get("completions") or spec.get("parallelism") or 1)
    return int(1 if (found := spec.get("replicas")) is None else found)


def _fewer(spec: Object, notes: materials.Notes) -> Object:
    for key in _COUNTS:
        if spec.get(key, 0) > PODS_MAX:
            notes.add(f"cut down: {key} from {spec[key]} to {PODS_MAX}")
            spec[key] = PODS_MAX
    return spec


def _pod(spec: Object, resources: Collection[str], notes: materials.Notes) -> Object:
    kept: Object = {}
    for key in ("initContainers", "containers"):
        if spec.get(key):
            kept[key] = [_container(item, resources, notes) for item in spec[key]]
    rest = {
        key: value for key, value in spec.items() if key not in kept and key != "resourceClaims"
    }
    kept |= _kept(rest, _OF_POD, notes, "of a pod")
    for affinity in places.tables(spec, "affinity"):
        if found := _kept(affinity, (_AFFINITY,), notes, "of a pod"):
            kept["affinity"] = found
    if spec.get("resourceClaims"):
        kept["resourceClaims"] = spec["resourceClaims"]
    return kept


def _container(container: Object, resources: Collection[str], notes: materials.Notes) -> Object:
    kept = _kept(container, _OF_CONTAINER, notes, "of a container")
    if found := kept.get("resources"):
        known = (*_AMOUNTS, *resources)
        amounts = {
            key: _kept(found[key], known, notes, "in the resources of a container")
            for key in ("requests", "limits")
            if found.get(key)
        }
        kept["resources"] = {**{key: found[key] for key in ("claims",) if key in found}, **amounts}
    return kept


def _kept(
    table: Mapping[str, Any], keys: Collection[str], notes: materials.Notes, whose: str
) -> Object:
    for key, value in table.items():
        if value and key not in (*keys, *_SILENT, "template", "jobTemplate"):
            notes.add(f"left out: {key} {whose}")
    return {key: table[key] for key in keys if table.get(key) not in (None, {}, [])}
