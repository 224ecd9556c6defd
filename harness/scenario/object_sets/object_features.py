"""The pods that the objects of a set make, and what they need."""

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction

from harness.manifests import workload_kinds
from harness.scenario.object_sets import set_specs


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The pods that belong to one object."""

    name: str
    at: str
    """Place of the pods' template in the object; empty: it is a Pod."""
    template: set_specs.Manifest
    """The template as the manifest has it: `metadata` and `spec`."""
    shape: set_specs.Pods
    """The same with its types."""
    pods: int = 1
    """Number of its pods in each round."""
    at_once: int = 1
    """Number of pods that exist at once before the first has ended."""
    completes: bool = False
    """The pods end by themselves."""
    is_suspended: bool = False
    """It makes no pods."""
    is_per_node: bool = False
    """Each pod is for a node of its own."""

    def pod_names(self, prefix: str) -> list[str]:
        if not self.at:
            return [f"{prefix}-{self.name}"]
        return [f"{prefix}-{self.name}-{index}" for index in range(self.pods)]

    @property
    def entries(self) -> list[set_specs.Entry]:
        return self.shape.spec.resource_claims or []


def of_set(objects: set_specs.ObjectSet) -> Iterator[tuple[set_specs.SetObject, Workload]]:
    for item in objects.objects:
        if has_pods(item):
            yield item, of_object(item)


def has_pods(item: set_specs.SetObject) -> bool:
    return item.kind in workload_kinds.TEMPLATES


def of_object(item: set_specs.SetObject) -> Workload:
    at = workload_kinds.TEMPLATES[item.kind]
    shape = set_specs.shape_of(item.manifest)
    if not at:
        return Workload(name=item.name, at=at, template=item.manifest, shape=shape)
    is_job = item.kind in ("Job", "CronJob")
    pods = (shape.completions or shape.parallelism) if is_job else shape.replicas
    return Workload(
        name=item.name,
        at=at,
        template=workload_kinds.value(item.manifest, at),
        shape=shape.template,
        pods=pods,
        at_once=min(shape.parallelism, pods) if is_job else pods,
        completes=is_job,
        is_suspended=shape.suspend,
        is_per_node=item.kind == workload_kinds.PER_NODE,
    )


def pods_per_claim(one: set_specs.ObjectSet) -> Fraction:
    """Return how many pods of a set run for each claim that it makes, at least.

    A set that names no claims makes one for each pod, by extended resources.
    """
    made = [workload for _, workload in of_set(one)]
    pods = sum(workload.pods for workload in made)
    shared = [entry for entries in group_entries(one).values() for entry in entries]
    generated = sum(workload.pods * _templates(workload.entries, shared) for workload in made)
    claims = len(one.of_kind(set_specs.CLAIM)) + generated + _templates(shared)
    return Fraction(pods, claims or pods)


def group_entries(one: set_specs.ObjectSet) -> dict[str, list[set_specs.Entry]]:
    groups = one.of_kind(set_specs.POD_GROUP)
    return {item.name: set_specs.shape_of(item.manifest).resource_claims or [] for item in groups}


def _templates(entries: Sequence[set_specs.Entry], shared: Sequence[set_specs.Entry] = ()) -> int:
    own = [entry for entry in entries if entry not in shared]
    return sum(entry.resource_claim_template_name is not None for entry in own)


def is_whole(one: set_specs.ObjectSet) -> bool:
    """Return whether pods of a set use no templates but its own."""
    used = {
        entry.resource_claim_template_name
        for _, workload in of_set(one)
        for entry in workload.entries
    }
    return used <= {None, *one.names(set_specs.TEMPLATE)}


def has_admin_access(one: set_specs.ObjectSet) -> bool:
    return any(choice.admin_access for choice in _choices(one))


def tolerates(one: set_specs.ObjectSet) -> bool:
    return any(choice.tolerations for choice in _choices(one))


def asks_for_shares(one: set_specs.ObjectSet) -> bool:
    """Return whether claims of a set ask for amounts of capacities, or for distinct attributes."""
    constraints = (item for spec in one.claim_specs for item in spec.devices.constraints)
    is_distinct = any(item.get("distinctAttribute") for item in constraints)
    return is_distinct or any(choice.capacity for choice in _choices(one))


def asks_for_extended(one: set_specs.ObjectSet) -> bool:
    pods = (workload.shape.spec for _, workload in of_set(one))
    names = (name for pod in pods for _, item in pod.every_container for name in item.amounts)
    return any("/" in name for name in names)


def _choices(one: set_specs.ObjectSet) -> Iterator[set_specs.Alternative]:
    for spec in one.claim_specs:
        yield from spec.alternatives
