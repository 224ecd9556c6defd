"""Why the objects of a scenario's files cannot be its traffic: each with file, object and field."""

import collections
from collections.abc import Collection, Iterator, Sequence

import msgspec

from harness.scenario.object_sets import set_specs, shapes, workloads

_PLAIN = ("cpu", "memory")
"""Resources that every fake node offers."""


def of_sets(
    sets: Sequence[set_specs.ObjectSet],
    *,
    classes: Collection[str],
    resources: Collection[str],
    templates: Collection[str],
) -> Iterator[str]:
    """Yield one line for each thing that neither the files nor the run's pools offer.

    `classes` are the DeviceClasses of the run, `resources` the extended resources that they offer,
    and `templates` the ResourceClaimTemplates of `pools.from`.
    """
    known = {*templates, *(name for one in sets for name in one.names(set_specs.TEMPLATE))}
    for one in sets:
        yield from _of_names(one)
        yield from _of_classes(one, classes)
        for item, workload in workloads.of_set(one):
            where = f"{one.where(item)}: {f'{workload.at}.' if workload.at else ''}spec."
            yield from _of_references(where, workload, one, known)
            yield from _of_amounts(where, workload, {*_PLAIN, *resources})
            yield from _of_life(where, workload)


def _of_names(one: set_specs.ObjectSet) -> Iterator[str]:
    counts = collections.Counter((item.kind, item.name) for item in one.objects)
    for (kind, name), count in counts.items():
        if count > 1:
            yield f"{one.file}: {kind} {name}: expected each object once, got it {count} times"
    if not any(workloads.of_set(one)):
        yield f"{one.file}: expected a Pod, or something with a template of pods, got none"


def _of_classes(one: set_specs.ObjectSet, classes: Collection[str]) -> Iterator[str]:
    for item in (*one.of_kind(set_specs.CLAIM), *one.of_kind(set_specs.TEMPLATE)):
        asked = [choice.device_class_name for choice in shapes.of(item.manifest).alternatives]
        for name in dict.fromkeys(asked):
            if name not in classes:
                yield (
                    f"{one.where(item)}: deviceClassName: expected a DeviceClass of the run "
                    f"({', '.join(classes)}), got {name!r}; name its file in pools.from, or set "
                    "pools.device_class.name"
                )


def _of_references(
    where: str,
    workload: workloads.Workload,
    one: set_specs.ObjectSet,
    templates: Collection[str],
) -> Iterator[str]:
    """Check that the claims, templates and groups that pods name are there."""
    for place, kind, name in _references(workload):
        files = one.file
        known: Collection[str] = one.names(kind)
        if kind == set_specs.TEMPLATE:
            files, known = "the files of traffic.objects or pools.from", templates
        if name not in known:
            yield f"{where}{place}: expected a {kind} of {files}, got {name!r}, which has none"


def _references(workload: workloads.Workload) -> Iterator[tuple[str, str, str]]:
    """Yield the place, kind and name of each object that pods name."""
    for index, entry in enumerate(workload.entries):
        at, template = f"resourceClaims[{index}]", entry.resource_claim_template_name
        if template is not None:
            yield f"{at}.resourceClaimTemplateName", set_specs.TEMPLATE, template
        else:
            yield f"{at}.resourceClaimName", set_specs.CLAIM, entry.resource_claim_name or ""
    if group := workload.shape.spec.scheduling_group:
        yield (
            "schedulingGroup.podGroupName",
            set_specs.POD_GROUP,
            group.get("podGroupName") or "",
        )


def _of_amounts(
    where: str, workload: workloads.Workload, offered: Collection[str]
) -> Iterator[str]:
    for place, container in workload.shape.spec.every_container:
        for name in sorted(container.amounts - {*offered}):
            yield (
                f"{where}{place}.resources: expected resources that nodes or a DeviceClass of the "
                f"run offer ({', '.join(sorted(offered))}), got {name!r}"
            )


def _of_life(where: str, workload: workloads.Workload) -> Iterator[str]:
    """Check what keeps pods from running, or from ending, and no API server refuses."""
    spec = workload.shape.spec
    if spec.scheduling_gates:
        yield (
            f"{where}schedulingGates: expected none, got some; no controller of a run removes "
            "scheduling gates: delete them from the manifest"
        )
    if workload.completes and spec.restart_policy not in ("Never", "OnFailure"):
        yield (
            f"{where}restartPolicy: expected Never or OnFailure in a Job, got "
            f"{spec.restart_policy!r}, with which its pods do not end"
        )
    named = msgspec.json.encode([spec.node_selector, spec.affinity])
    if b'"kubernetes.io/hostname":' in named or b'"metadata.name"' in named:
        yield (
            f"{where}nodeSelector, affinity: expected labels of nodes, got names of nodes: those "
            "of a run have other names; remove them"
        )
    if workload.is_suspended:
        yield f"{where.removesuffix('template.spec.')}suspend: expected false, got true: it makes no pods"


def of_python_scheduler(sets: Sequence[set_specs.ObjectSet]) -> Iterator[str]:
    """Yield what pods ask for that this repository's scheduler does not look at."""
    for one in sets:
        for item, workload in workloads.of_set(one):
            for key in _unsupported(workload.shape.spec):
                yield f"{one.where(item)}: {key}"


def _unsupported(spec: shapes.PodSpec) -> Iterator[str]:
    affinity = spec.affinity or {}
    yield from (
        f"affinity.{key}" for key in ("podAffinity", "podAntiAffinity") if affinity.get(key)
    )
    if spec.topology_spread_constraints:
        yield "topologySpreadConstraints"
    for place, container in spec.every_container:
        if any(port.get("hostPort") for port in container.ports or ()):
            yield f"{place}.ports.hostPort"
