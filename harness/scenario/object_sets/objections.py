"""Why the objects of a scenario's files cannot be its traffic: each with file, object and field."""

import collections
from collections.abc import Iterator, Mapping, Sequence

from harness.scenario.object_sets import set_specs, shapes, workloads

_PLAIN = ("cpu", "memory")
"""Resources that every fake node offers."""


def of_pools(
    sets: Sequence[set_specs.ObjectSet], *, classes: Sequence[str], resources: Mapping[str, str]
) -> Iterator[str]:
    """Yield one line for each thing that the run's pools do not offer.

    `classes` are the DeviceClasses of the run, `resources` the extended resources that one of them
    or the nodes offer.
    """
    for one in sets:
        yield from _of_classes(one, classes)
        for item, workload in workloads.of_set(one):
            yield from _of_amounts(_spec_of(one, item, workload), workload, resources)


def _spec_of(
    one: set_specs.ObjectSet, item: set_specs.SetObject, workload: workloads.Workload
) -> str:
    """Return the place of the pods' spec in sentences."""
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
    """Check that the claims and templates that pods name are there, and requests of containers."""
    claims = {item.name: item for item in one.of_kind(set_specs.CLAIM)}
    own = {item.name: item for item in one.of_kind(set_specs.TEMPLATE)}
    asked: dict[str, shapes.ClaimSpec] = {}
    for index, entry in enumerate(workload.entries):
        at = f"{where}resourceClaims[{index}]."
        if entry.resource_claim_template_name is not None:
            key, name, known = (
                "resourceClaimTemplateName",
                entry.resource_claim_template_name,
                {**templates, **own},
            )
        else:
            key, name, known = "resourceClaimName", entry.resource_claim_name or "", claims
        if name not in known:
            yield _missing(f"{at}{key}", key, name, one.file)
        else:
            asked[entry.name] = claim_of(known[name])
    for place, container in workload.shape.spec.every_container:
        yield from _of_used(f"{where}{place}.resources.claims", container, workload, asked)


def _missing(at: str, key: str, name: str, file: str) -> str:
    if key == "resourceClaimName":
        return f"{at}: expected a ResourceClaim of {file}, got {name!r}, which it has not"
    return f"{at}: expected a ResourceClaimTemplate of the files of traffic.objects, got {name!r}, which none has"


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
    resources: Mapping[str, str],
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
        yield f"{where}schedulingGates: expected none, got some: nobody removes them in a run"
    if workload.completes and spec.restart_policy not in ("Never", "OnFailure"):
        yield (
            f"{where}restartPolicy: expected Never or OnFailure in a Job, got "
            f"{spec.restart_policy!r}, with which its pods do not end"
        )
    if workload.is_suspended:
        yield f"{where.removesuffix('template.spec.')}suspend: expected false, got true: it makes no pods"


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
