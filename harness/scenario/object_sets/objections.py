"""Why the objects of a scenario's files cannot be its traffic: each with file, object and field."""

import collections
from collections.abc import Collection, Iterator, Sequence

import msgspec

from harness.scenario.object_sets import set_specs

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
        for place, kind, name in _references(one):
            offered = {
                "DeviceClass": classes,
                "resource": (*_PLAIN, *resources),
                set_specs.TEMPLATE: known,
            }.get(kind, one.names(kind))
            if name not in offered:
                yield (
                    f"{place}: expected a {kind} of {one.file}, pools.from or the run "
                    f"({', '.join(sorted(offered))}), got {name!r}"
                )
        for item, workload in one.workloads:
            yield from _of_life(one.where(item), workload)


def _of_names(one: set_specs.ObjectSet) -> Iterator[str]:
    counts = collections.Counter((item.kind, item.name) for item in one.objects)
    for (kind, name), count in counts.items():
        if count > 1:
            yield f"{one.file}: {kind} {name}: expected each object once, got it {count} times"
    if not one.workloads:
        yield f"{one.file}: expected a Pod, or something with a template of pods, got none"


def _references(one: set_specs.ObjectSet) -> Iterator[tuple[str, str, str]]:
    for item, wanted in one.requests:
        name = str(wanted.get("deviceClassName", ""))
        yield f"{one.where(item)}: deviceClassName", "DeviceClass", name
    for item, workload in one.workloads:
        where, spec = f"{one.where(item)}: {_below(workload)}", workload.spec
        for index, entry in enumerate(workload.entries):
            at, template = f"{where}resourceClaims[{index}].", entry.resource_claim_template_name
            if template is not None:
                yield f"{at}resourceClaimTemplateName", set_specs.TEMPLATE, template
            else:
                yield f"{at}resourceClaimName", set_specs.CLAIM, entry.resource_claim_name or ""
        if group := spec.scheduling_group:
            place = f"{where}schedulingGroup.podGroupName"
            yield place, set_specs.POD_GROUP, group.get("podGroupName") or ""
        for place, container in spec.every_container:
            for name in sorted(container.amounts):
                yield f"{where}{place}.resources", "resource", name


def _below(workload: set_specs.Workload) -> str:
    return f"{workload.at}.spec.".lstrip(".")


def _of_life(where: str, workload: set_specs.Workload) -> Iterator[str]:
    """Yield what keeps pods from running, or from ending, and no API server refuses."""
    spec, below = workload.spec, _below(workload)
    named = msgspec.json.encode([spec.node_selector, spec.affinity])
    found = {
        f"{below}schedulingGates: expected none, got some; no controller of a run removes them": (
            spec.scheduling_gates
        ),
        f"{below}restartPolicy: expected Never or OnFailure in a Job, got {spec.restart_policy!r}": (
            workload.completes and spec.restart_policy not in ("Never", "OnFailure")
        ),
        f"{below}nodeSelector, affinity: expected labels of nodes, got names of nodes: those of a "
        "run have other names": b'"kubernetes.io/hostname":' in named
        or b'"metadata.name"' in named,
        f"{below.removesuffix('template.spec.')}suspend: expected false, got true: it makes no pods": (
            workload.is_suspended
        ),
    }
    yield from (f"{where}: {problem}" for problem, is_so in found.items() if is_so)


def of_python_scheduler(sets: Sequence[set_specs.ObjectSet]) -> Iterator[str]:
    """Yield what pods ask for that this repository's scheduler does not look at."""
    for one in sets:
        for item, workload in one.workloads:
            yield from (f"{one.where(item)}: {key}" for key in _unsupported(workload.spec))


def _unsupported(spec: set_specs.PodSpec) -> Iterator[str]:
    for key in ("podAffinity", "podAntiAffinity"):
        if (spec.affinity or {}).get(key):
            yield f"affinity.{key}"
    if spec.topology_spread_constraints:
        yield "topologySpreadConstraints"
    for place, container in spec.every_container:
        if any(port.get("hostPort") for port in container.ports or ()):
            yield f"{place}.ports.hostPort"
