"""Why the objects of a scenario's files cannot be its traffic: each with file, object and field."""

import collections
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from harness.scenario.object_sets import set_specs, shapes, workloads

_PLAIN = ("cpu", "memory")
"""Resources that every fake node offers."""


def of_pools(
    sets: Sequence[set_specs.ObjectSet],
    *,
    classes: Sequence[str],
    resources: Collection[str],
    templates: Sequence[str],
) -> Iterator[str]:
    """Yield one line for each thing that neither the files nor the run's pools offer.

    `classes` are the DeviceClasses of the run, `resources` the extended resources that they offer,
    and `templates` the ResourceClaimTemplates of `pools.from`.
    """
    known = {*templates, *(name for one in sets for name in one.names(set_specs.TEMPLATE))}
    for one in sets:
        yield from _of_classes(one, classes)
        for item, workload in workloads.of_set(one):
            where = _spec_of(one, item, workload)
            yield from _of_templates(where, workload, known)
            yield from _of_amounts(where, workload, resources)


def _of_templates(
    where: str, workload: workloads.Workload, known: Collection[str]
) -> Iterator[str]:
    for index, entry in enumerate(workload.entries):
        name = entry.resource_claim_template_name
        if name is not None and name not in known:
            yield (
                f"{where}resourceClaims[{index}].resourceClaimTemplateName: expected a "
                "ResourceClaimTemplate of the files of traffic.objects or pools.from, got "
                f"{name!r}, which none has"
            )


def _spec_of(
    one: set_specs.ObjectSet, item: set_specs.SetObject, workload: workloads.Workload
) -> str:
    return f"{one.where(item)}: {f'{workload.at}.' if workload.at else ''}spec."


def of_sets(sets: Sequence[set_specs.ObjectSet]) -> Iterator[str]:
    """Yield one line for each thing that cannot work, whatever the run's pools are."""
    templates = {item.name: item for one in sets for item in one.of_kind(set_specs.TEMPLATE)}
    for one in sets:
        yield from _of_names(one)
        for item, workload in workloads.of_set(one):
            where = _spec_of(one, item, workload)
            yield from _of_references(where, workload, one, templates)
            yield from _of_life(where, workload)
        if not any(workloads.of_set(one)):
            yield f"{one.file}: expected a Pod, or something with a template of pods, got none"


def _of_names(one: set_specs.ObjectSet) -> Iterator[str]:
    counts = collections.Counter((item.kind, item.name) for item in one.objects)
    for (kind, name), count in counts.items():
        if count > 1:
            yield f"{one.file}: {kind} {name}: expected each object once, got it {count} times"


def _of_classes(one: set_specs.ObjectSet, classes: Sequence[str]) -> Iterator[str]:
    for item in (*one.of_kind(set_specs.CLAIM), *one.of_kind(set_specs.TEMPLATE)):
        asked = [choice.device_class_name for choice in claim_of(item).alternatives]
        for name in dict.fromkeys(asked):
            if name not in classes:
                yield (
                    f"{one.where(item)}: deviceClassName: expected a DeviceClass of the run "
                    f"({', '.join(classes)}), got {name!r}; name its file in pools.from, or set "
                    "pools.device_class.name"
                )


def claim_of(item: set_specs.SetObject) -> shapes.ClaimSpec:
    """Return the spec of a claim, or of the claims of a template."""
    spec: shapes.ClaimSpec | shapes.Claim = shapes.of(item.manifest).spec
    return spec.spec if isinstance(spec, shapes.Claim) else spec


# -------------------------------------------------------------------------- references


def _of_references(
    where: str,
    workload: workloads.Workload,
    one: set_specs.ObjectSet,
    templates: Mapping[str, set_specs.SetObject],
) -> Iterator[str]:
    """Check that the claims that pods name are there, and the requests that containers name."""
    claims = {item.name: item for item in one.of_kind(set_specs.CLAIM)}
    own = {item.name: item for item in one.of_kind(set_specs.TEMPLATE)}
    asked: dict[str, shapes.ClaimSpec] = {}
    for index, entry in enumerate(workload.entries):
        template = entry.resource_claim_template_name
        name = entry.resource_claim_name or ""
        found = claims.get(name) if template is None else {**templates, **own}.get(template)
        if found is not None:
            asked[entry.name] = claim_of(found)
        elif template is None:
            yield (
                f"{where}resourceClaims[{index}].resourceClaimName: expected a ResourceClaim of "
                f"{one.file}, got {name!r}, which it has not"
            )
    yield from _of_group(where, workload.shape.spec, one)
    for place, container in workload.shape.spec.every_container:
        yield from _of_used(f"{where}{place}.resources.claims", container, workload, asked)


def _of_group(where: str, spec: shapes.PodSpec, one: set_specs.ObjectSet) -> Iterator[str]:
    if spec.scheduling_group is None:
        return
    name = spec.scheduling_group.pod_group_name
    if name not in one.names(set_specs.POD_GROUP):
        at = f"{where}schedulingGroup.podGroupName"
        yield f"{at}: expected a PodGroup of {one.file}, got {name!r}, which it has not"


def _of_used(
    at: str,
    container: shapes.Container,
    workload: workloads.Workload,
    asked: Mapping[str, shapes.ClaimSpec],
) -> Iterator[str]:
    entries = [entry.name for entry in workload.entries]
    for index, used in enumerate(container.used):
        if used.name not in entries:
            known = ", ".join(entries) or "there is none"
            yield (
                f"{at}[{index}].name: expected an entry of resourceClaims ({known}), got {used.name!r}"
            )
        elif used.request and used.name in asked:
            requests = sorted(asked[used.name].request_names)
            if used.request not in requests:
                yield (
                    f"{at}[{index}].request: expected a request of the claim "
                    f"({', '.join(requests)}), got {used.request!r}"
                )


# --------------------------------------------------------------------------- resources


def _of_amounts(
    where: str,
    workload: workloads.Workload,
    resources: Collection[str],
) -> Iterator[str]:
    """Check that the run's nodes or classes offer each resource."""
    known = {*_PLAIN, *resources}
    for place, container in workload.shape.spec.every_container:
        for name in sorted(container.amounts - known):
            yield (
                f"{where}{place}.resources: expected resources that nodes or a DeviceClass of the "
                f"run offer ({', '.join(sorted(known))}), got {name!r}"
            )


def _of_life(where: str, workload: workloads.Workload) -> Iterator[str]:
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
    if _names_nodes(workload):
        yield (
            f"{where}nodeSelector, affinity: expected labels of nodes, got names of nodes: those "
            "of a run have other names; remove them"
        )
    if workload.is_suspended:
        yield f"{where.removesuffix('template.spec.')}suspend: expected false, got true: it makes no pods"


def _names_nodes(workload: workloads.Workload) -> bool:
    """Return whether pods may run on nodes of certain names only."""
    spec = workload.template["spec"]
    text = msgspec.json.encode([spec.get("nodeSelector"), spec.get("affinity")])
    return b'"kubernetes.io/hostname":' in text or b'"metadata.name"' in text


# --------------------------------------------------------------------------- schedulers


def of_python_scheduler(sets: Sequence[set_specs.ObjectSet]) -> Iterator[str]:
    """Yield what pods ask for that this repository's scheduler does not look at."""
    for one in sets:
        for item, workload in workloads.of_set(one):
            for key in _unsupported(workload.shape.spec):
                yield f"{one.where(item)}: {key}"


def _unsupported(spec: shapes.PodSpec) -> Iterator[str]:
    affinity = spec.affinity or shapes.Affinity()
    if affinity.pod_affinity:
        yield "affinity.podAffinity"
    if affinity.pod_anti_affinity:
        yield "affinity.podAntiAffinity"
    if spec.topology_spread_constraints:
        yield "topologySpreadConstraints"
    for place, container in spec.every_container:
        if any(port.host_port for port in container.ports or ()):
            yield f"{place}.ports.hostPort"
