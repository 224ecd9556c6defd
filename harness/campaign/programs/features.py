"""Features that a scenario needs of a scheduler, beyond whole devices for claims of a pod each."""

from collections.abc import Callable, Iterable

from harness.scenario import cluster_features, specs, traffic_specs
from harness.scenario.object_sets import set_specs

_SHARING = (traffic_specs.SharedTraffic, traffic_specs.LimitTraffic)


def needed(scenario: specs.Scenario) -> list[str]:
    """Return what a scheduler must know to satisfy the scenario, in words; empty: nothing more."""
    return [name for name, is_needed in _FEATURES.items() if is_needed(scenario)]


def _shares_claims(scenario: specs.Scenario) -> bool:
    return isinstance(scenario.traffic, _SHARING) or any(
        one.of_kind(set_specs.POD_GROUP) for one in scenario.object_sets
    )


def _chooses_devices(scenario: specs.Scenario) -> bool:
    """Return whether it matters which of the devices a claim gets."""
    return any(
        not claim.is_plain or claim.selectors or claim.has_admin_access or claim.devices > 1
        for claim in scenario.claim_kinds
    )


def _has_several_claims(scenario: specs.Scenario) -> bool:
    return getattr(scenario.traffic, "claims_per_pod", 1) > 1


def _has_several_schedulers(scenario: specs.Scenario) -> bool:
    return len(scenario.subject.schedulers) > 1


def _has_extended(scenario: specs.Scenario) -> bool:
    return any(claim.extended for claim in scenario.claim_kinds)


def _of_gate(gate: str) -> Callable[[specs.Scenario], bool]:
    return lambda scenario: gate in {item.gate for item in cluster_features.needed(scenario)}


_FEATURES: dict[str, Callable[[specs.Scenario], bool]] = {
    "claims that pods share": _shares_claims,
    "pods with several claims": _has_several_claims,
    "requests, selectors and constraints": _chooses_devices,
    "extended resources": _has_extended,
    "shares of devices": lambda scenario: scenario.pools.has("shares"),
    "partitions of devices": lambda scenario: scenario.pools.has("counters"),
    "devices of several nodes": lambda scenario: scenario.pools.has("several-nodes"),
    "binding conditions": lambda scenario: scenario.pools.has("binding-conditions"),
    "taints of devices": _of_gate("DRADeviceTaints"),
    "PodGroups": cluster_features.has_pod_groups,
    "several schedulers": _has_several_schedulers,
}
"""Features that claims of the API can have, with what says that a scenario has them."""


def missing(chosen: Iterable[specs.Scenario], every: Iterable[specs.Scenario]) -> list[str]:
    """Return the features that some scenarios have and none of the chosen ones has."""
    tried = {name for scenario in chosen for name in needed(scenario)}
    known = {name for scenario in every for name in needed(scenario)}
    return [name for name in _FEATURES if name in known - tried]
