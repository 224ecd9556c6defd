"""The nodes on which a pod may run: its node selector and affinity, and room for its requests.

Other things by which a scheduler chooses nodes are not read: an observer cannot tell about them. A
scheduler that leaves a pod waiting for lack of CPU, memory or places is right, whatever devices are
idle. An init container is counted as if it ran beside the others: this judge may see too little
room.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from harness.checks.devices import node_selectors
from harness.checks.observed import observed_pods
from harness.model import quantities

AMOUNTS = ("cpu", "memory", "ephemeral-storage")
_ONE_POD = {"pods": Fraction(1)}


class UnclearError(ValueError):
    """An observer cannot tell where the pod may run."""


def allowed(
    spec: observed_pods.PodSpec, nodes: Mapping[str, node_selectors.Labels] | None
) -> set[str] | None:
    """Return the names of the nodes on which a pod may run; None: any.

    `nodes` are all nodes with their labels, None if they are not known. Raises UnclearError.
    """
    affinity = spec.affinity or observed_pods.Affinity()
    if affinity.pod_affinity or affinity.pod_anti_affinity:
        raise UnclearError("expected no affinity to other pods")
    if spec.topology_spread_constraints:
        raise UnclearError("expected no constraints of topology")
    required = affinity.node_affinity.required if affinity.node_affinity else None
    if not spec.node_selector and required is None:
        return None
    if nodes is None:
        raise UnclearError("expected nodes with labels")
    wanted = (spec.node_selector or {}).items()
    return {
        name
        for name, labels in nodes.items()
        if wanted <= labels.items() and _admits(required, name, labels)
    }


def _admits(selector: object, name: str, labels: node_selectors.Labels) -> bool:
    try:
        return node_selectors.admits(selector, name, labels)
    except node_selectors.UnknownSelectorError as error:
        raise UnclearError(str(error)) from error


def has_room(
    pod: observed_pods.Pod,
    node: str,
    allocatable: Mapping[str, Any] | None,
    pods: Iterable[observed_pods.Pod],
) -> bool:
    """Return whether a node surely has room for a pod beside those that run or may run there.

    `allocatable` are the amounts of the node; None or empty: they are not known, and suffice for a
    pod that requests nothing. Raises QuantityError for a malformed quantity.
    """
    wanted = _requested(pod)
    if not allocatable:
        return not wanted
    left = {name: quantities.amount(str(text)) for name, text in allocatable.items()}
    beside = [item for item in pods if item.spec.node_name == node and not item.has_ended]
    for item in beside:
        for name, amount in (_requested(item) | _ONE_POD).items():
            left[name] = left.get(name, Fraction(0)) - amount
    return all(left.get(name, Fraction(0)) >= amount for name, amount in wanted.items()) and (
        "pods" not in left or left["pods"] >= 1
    )


def _requested(pod: observed_pods.Pod) -> dict[str, Fraction]:
    """Return the amounts that the containers of a pod request, without those of nothing."""
    found: dict[str, Fraction] = {}
    for container in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())):
        for name, text in (container.resources.requests or {}).items():
            if name in AMOUNTS:
                found[name] = found.get(name, Fraction(0)) + quantities.amount(str(text))
    return {name: amount for name, amount in found.items() if amount}
