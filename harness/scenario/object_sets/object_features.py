"""The needs of the objects of a set, and the load that they make."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from harness.scenario.object_sets import set_specs, shapes, workloads


def pods_per_claim(one: set_specs.ObjectSet) -> Fraction:
    """Return how many pods of a set run for each claim that it makes, at least.

    A set that names no claims makes one for each pod, by extended resources.
    """
    made = [workload for _, workload in workloads.of_set(one)]
    pods = sum(workload.pods for workload in made)
    shared = [entry for entries in group_entries(one).values() for entry in entries]
    generated = sum(workload.pods * _templates(workload.entries, shared) for workload in made)
    claims = len(one.of_kind(set_specs.CLAIM)) + generated + _templates(shared)
    return Fraction(pods, claims or pods)


def group_entries(one: set_specs.ObjectSet) -> dict[str, list[shapes.Entry]]:
    """Return the entries of `resourceClaims` of each PodGroup of a set, by its name."""
    groups = one.of_kind(set_specs.POD_GROUP)
    return {item.name: shapes.of(item.manifest).resource_claims or [] for item in groups}


def _templates(entries: Sequence[shapes.Entry], shared: Sequence[shapes.Entry] = ()) -> int:
    """Return how many entries, but for those of PodGroups, name a template."""
    own = [entry for entry in entries if entry not in shared]
    return sum(entry.resource_claim_template_name is not None for entry in own)


def is_whole(one: set_specs.ObjectSet) -> bool:
    """Return whether pods of a set use no templates but its own."""
    used = {
        entry.resource_claim_template_name
        for _, workload in workloads.of_set(one)
        for entry in workload.entries
    }
    return used <= {None, *one.names(set_specs.TEMPLATE)}


def has_admin_access(one: set_specs.ObjectSet) -> bool:
    """Return whether claims of a set ask for admin access."""
    return any(choice.admin_access for choice in _choices(one))


def tolerates(one: set_specs.ObjectSet) -> bool:
    """Return whether claims of a set tolerate taints of devices."""
    return any(choice.tolerations for choice in _choices(one))


def asks_for_shares(one: set_specs.ObjectSet) -> bool:
    """Return whether claims of a set ask for amounts of capacities, or for distinct attributes."""
    constraints = (item for spec in one.claim_specs for item in spec.devices.constraints)
    is_distinct = any(item.get("distinctAttribute") for item in constraints)
    return is_distinct or any(choice.capacity for choice in _choices(one))


def asks_for_extended(one: set_specs.ObjectSet) -> bool:
    pods = (workload.shape.spec for _, workload in workloads.of_set(one))
    names = (name for pod in pods for _, item in pod.every_container for name in item.amounts)
    return any("/" in name for name in names)


def _choices(one: set_specs.ObjectSet) -> Iterator[shapes.Alternative]:
    for spec in one.claim_specs:
        yield from spec.alternatives
