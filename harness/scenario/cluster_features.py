"""Feature gates and API versions that a scenario needs, by the version of Kubernetes.

After pkg/features/kube_features.go of Kubernetes 1.37. A gate that is on by default is not named,
so that a later version, which no longer has it, starts as well.
"""

import dataclasses
from collections.abc import Mapping

from harness import errors
from harness.scenario import pool_changes, pool_specs, script_specs, specs
from harness.scenario.object_sets import set_specs

Version = tuple[int, int]
"""Major and minor version of Kubernetes."""
GROUPS_API = "scheduling.k8s.io/v1alpha2"
"""The version of PodGroups."""
COUNTERS_SINCE: Version = (1, 35)
"""First version whose counter sets are in slices of their own."""
LISTS = "DRAListTypeAttributes"
"""The gate of attributes with lists of values."""
RULES = "DRADeviceTaintRules"
GROUP_GATES = ("GenericWorkload", "DRAWorkloadResourceClaims")
EMBEDDED_GATES = (LISTS, *GROUP_GATES)
"""Gates that the embedded API server has; other features are always on there."""
EVICTION_SINCE: Version = (1, 35)
"""First version that evicts pods by taints of slices though it cannot follow DeviceTaintRules."""
RULES_API = "resource.k8s.io/v1beta2"
"""The version of DeviceTaintRules that the harness writes and the schedulers watch."""


@dataclasses.dataclass(frozen=True, slots=True)
class Feature:
    """A feature of DRA that not every version has, or has on."""

    title: str
    gate: str
    since: Version
    """First version with the gate."""
    on_since: Version
    """First version in which it is on by default."""
    api: str = ""
    """API version to serve in addition; empty: none."""


_GROUPS = "PodGroups (traffic.objects)"
_ALPHA: Version = (1, 99)
_TAINTS = "taints of devices (pools.more.taints, pools.changes, claims.requests.tolerations)"
_PARTS = "partitions and limits of devices (pools.more.partitions, pools.more.limit)"
_BINDING = "binding conditions (pools.more.binding_conditions)"
FEATURES = (
    Feature(_TAINTS, "DRADeviceTaints", (1, 33), (1, 36)),
    # older versions have a gate and rules, but not of this API version
    Feature(
        'DeviceTaintRules (pools.changes with by = "rule")', RULES, (1, 36), (1, 37), RULES_API
    ),
    Feature(_PARTS, "DRAPartitionableDevices", (1, 33), (1, 36)),
    Feature("shares of devices (pools.more.shared)", "DRAConsumableCapacity", (1, 34), (1, 36)),
    Feature(_BINDING, "DRADeviceBindingConditions", (1, 34), (1, 36)),
    Feature("attributes with lists of values (pools.from)", LISTS, (1, 36), _ALPHA),
    Feature(
        "extended resources (claim.extended, traffic.objects)",
        "DRAExtendedResource",
        (1, 34),
        (1, 36),
    ),
    # 1.35 has another version of them, without claims
    *(Feature(_GROUPS, gate, (1, 36), (1, 38), GROUPS_API) for gate in GROUP_GATES),
)
"""Features that are on by default in every supported version are left out."""


def needed(scenario: specs.Scenario) -> list[Feature]:
    pools, sets = scenario.pools, scenario.object_sets
    are_tainted = any(isinstance(item, pool_changes.Taint) for item in pools.changes)
    is_needed = {
        "DRADeviceTaints": pools.has("taints") or are_tainted or _tolerates(scenario),
        RULES: needs_rules(pools),
        "DRAPartitionableDevices": pools.has("counters"),
        "DRAConsumableCapacity": pools.has("shares") or any(one.asks_for_shares for one in sets),
        "DRADeviceBindingConditions": pools.has("binding-conditions"),
        LISTS: pools.has("lists"),
        "DRAExtendedResource": _extends(scenario),
        **dict.fromkeys(GROUP_GATES, has_pod_groups(scenario)),
    }
    return [feature for feature in FEATURES if is_needed[feature.gate]]


def switches(
    scenario: specs.Scenario,
    version: Version,
    chosen: Mapping[str, bool],
    *,
    where: str,
    program: str,
    evicts: bool = True,
) -> tuple[dict[str, bool], list[str]]:
    """Return the gates and API versions to switch on; `chosen` are the gates that are set.

    `where` is the name of the program's settings in messages; `evicts`: pods are evicted by it, if
    they are. Raises UsageError if the version lacks a feature, or a gate has been switched off.
    """
    features = needed(scenario)
    demands = [(item.since, f"has {item.title}") for item in features]
    if scenario.pools.has("counters"):
        demands.append((COUNTERS_SINCE, "publishes counter sets in slices of their own"))
    if evicts and scenario.pools.evicts:
        demands.append((EVICTION_SINCE, "has devices that may get NoExecute taints"))
    for since, what in demands:
        if version < since:
            raise errors.UsageError(
                f"expected {program} of {_text(since)} or newer for the scenario {scenario.name}, "
                f"which {what}, got {_text(version)}: choose a newer one or another scenario"
            )
    for item in features:
        if chosen.get(item.gate) is False:
            raise errors.UsageError(
                f"expected {item.gate} to be on in {where}, because the scenario "
                f"{scenario.name} has {item.title}, got false: leave it out"
            )
    gates = {item.gate: True for item in features if version < item.on_since}
    return gates, list(dict.fromkeys(item.api for item in features if item.api))


def version_of(text: str) -> Version:
    major, minor, *_ = text.removeprefix("v").split(".")
    return int(major), int(minor)


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def _extends(scenario: specs.Scenario) -> bool:
    played = scenario.traffic
    objects = played.objects if isinstance(played, script_specs.ScriptTraffic) else []
    return (
        any(claim.extended for claim in scenario.claim_kinds)
        or any(item.extended for item in objects)
        or any(one.asks_for_extended for one in scenario.object_sets)
    )


def has_pod_groups(scenario: specs.Scenario) -> bool:
    return any(one.of_kind(set_specs.POD_GROUP) for one in scenario.object_sets)


def _tolerates(scenario: specs.Scenario) -> bool:
    """Return whether requests have tolerations: without the gate, results get no copy of them."""
    return any(one.tolerates for one in scenario.object_sets) or any(
        item.tolerations
        for claim in scenario.claim_kinds
        for request in claim.asked
        for item in request.alternatives
    )


def needs_rules(pools: pool_specs.PoolsSpec) -> bool:
    return any(map(pool_changes.is_by_rule, pools.changes)) or pools.has("taint-rules")
