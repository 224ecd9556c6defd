"""The nodes on which a pod may run: its node selector and affinity, its claims, and its requests.

Other things by which a scheduler chooses nodes are not read: an observer cannot tell about them. A
scheduler that leaves a pod waiting for lack of CPU, memory or places is right, whatever devices are
idle. An init container is counted as if it ran beside the others: this judge may see too little
room.
"""

import collections
from collections.abc import Iterable
from fractions import Fraction

from harness.checks import world_states
from harness.checks.devices import node_selectors
from harness.checks.observed import observed_claims, observed_pods
from harness.checks.progress import device_supply
from harness.model import quantities

AMOUNTS = ("cpu", "memory", "ephemeral-storage")
_ONE_POD = {"pods": Fraction(1)}


class UnclearError(ValueError):
    """An observer cannot tell where the pod may run."""


class PodNodes:
    """Where pods of one state may run."""

    def __init__(self, state: world_states.WorldState, supply: device_supply.DeviceSupply) -> None:
        self._state, self._nodes, self._supply = state, state.nodes, supply

    def allowed(self, spec: observed_pods.PodSpec) -> set[str] | None:
        """Return the names of the nodes on which a pod may run; None: any. Raises UnclearError."""
        affinity = spec.affinity or observed_pods.Affinity()
        if affinity.pod_affinity or affinity.pod_anti_affinity or spec.topology_spread_constraints:
            raise UnclearError("expected no affinity to other pods")
        required = affinity.node_affinity.required if affinity.node_affinity else None
        if not spec.node_selector and required is None:
            return None
        if self._nodes is None:
            raise UnclearError("expected nodes with labels")
        wanted = (spec.node_selector or {}).items()
        try:
            return {
                name
                for name, labels in self._nodes.items()
                if wanted <= labels.items() and node_selectors.admits(required, name, labels)
            }
        except node_selectors.UnknownSelectorError as error:
            raise UnclearError(str(error)) from error

    def of_claims(self, claims: Iterable[observed_claims.Claim]) -> set[str] | None:
        """Return the nodes from which all allocated claims can be used; None: any, or not known."""
        found = [nodes for claim in claims if (nodes := self._of_claim(claim)) is not None]
        return set.intersection(*found) if found else None

    def _of_claim(self, claim: observed_claims.Claim) -> set[str] | None:
        """Return the nodes that an allocation admits, or else those of its devices."""
        allocation = claim.status.allocation
        if allocation is None:
            return None
        if allocation.node_selector is None:
            return {node for it in claim.results if (node := self._supply.node_of(it.id))} or None
        names = node_selectors.only_names(allocation.node_selector)
        if names is not None or self._nodes is None:
            return None if names is None else set(names)
        try:
            return {
                name
                for name, labels in self._nodes.items()
                if node_selectors.admits(allocation.node_selector, name, labels)
            }
        except node_selectors.UnknownSelectorError:
            return None

    def has_room(self, pod: observed_pods.Pod, node: str) -> bool:
        """Return whether a node surely has room for a pod beside those that run or may run there.

        Where its amounts are not known, they suffice for a pod that requests nothing. Raises
        QuantityError for a malformed quantity.
        """
        wanted, allocatable = _requested(pod), self._state.allocatable.get(node)
        if not allocatable:
            return not wanted
        left = collections.defaultdict[str, Fraction](Fraction)
        left |= {name: quantities.amount(str(text)) for name, text in allocatable.items()}
        for beside in self._state.pods.values():
            if beside.spec.node_name == node and not beside.has_ended:
                for name, amount in (_requested(beside) | _ONE_POD).items():
                    left[name] -= amount
        if "pods" in left:
            wanted |= _ONE_POD
        return all(left[name] >= amount for name, amount in wanted.items())


def _requested(pod: observed_pods.Pod) -> dict[str, Fraction]:
    """Return the amounts that the containers of a pod request, without those of nothing."""
    found = collections.defaultdict[str, Fraction](Fraction)
    for container in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())):
        for name, text in (container.resources.requests or {}).items():
            if name in AMOUNTS:
                found[name] += quantities.amount(str(text))
    return {name: amount for name, amount in found.items() if amount}
