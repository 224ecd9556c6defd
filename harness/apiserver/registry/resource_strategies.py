"""The strategy and the validation of each resource."""

from harness.apiserver.registry.strategies import (
    core_kinds,
    dra_kinds,
    generic,
    pod_groups,
    pods,
)
from harness.apiserver.registry.strategies.generic import Rules
from harness.apiserver.scheme import resources
from harness.apiserver.validation import claims, slices, small_kinds
from harness.apiserver.validation import pods as pod_rules

_KINDS: dict[resources.ResourceType, type[generic.Strategy]] = {
    resources.CLAIMS: dra_kinds.ClaimStrategy,
    resources.CLAIM_TEMPLATES: dra_kinds.ClaimTemplateStrategy,
    resources.EVENTS: core_kinds.EventStrategy,
    resources.LEASES: core_kinds.LeaseStrategy,
    resources.NAMESPACES: core_kinds.NamespaceStrategy,
    resources.NODES: core_kinds.NodeStrategy,
    resources.POD_GROUPS: pod_groups.PodGroupStrategy,
    resources.PODS: pods.PodStrategy,
    resources.SLICES: dra_kinds.SliceStrategy,
    resources.TAINT_RULES: dra_kinds.TaintRuleStrategy,
}
_RULES: dict[resources.ResourceType, Rules] = {
    resources.CLAIMS: Rules(claims.claim, claims.claim_change, claims.claim_status_change),
    resources.CLAIM_TEMPLATES: Rules(claims.template, claims.claim_change),
    resources.CONFIGMAPS: Rules(small_kinds.config_map, small_kinds.config_map_change),
    resources.DEVICE_CLASSES: Rules(claims.device_class, claims.device_class),
    resources.LEASES: Rules(small_kinds.lease, small_kinds.lease),
    resources.NAMESPACES: Rules(small_kinds.namespace),
    resources.NODES: Rules(small_kinds.node, small_kinds.node_change),
    resources.POD_GROUPS: Rules(
        small_kinds.pod_group, small_kinds.pod_group_change, small_kinds.pod_group_status
    ),
    resources.PODS: Rules(pod_rules.pod, pod_rules.pod_change, pod_rules.pod_status_change),
    resources.PRIORITY_CLASSES: Rules(
        small_kinds.priority_class, small_kinds.priority_class_change
    ),
    resources.SLICES: Rules(slices.device_slice, slices.device_slice),
    resources.TAINT_RULES: Rules(slices.taint_rule, slices.taint_rule, slices.taint_rule_status),
}


def of(resource: resources.ResourceType) -> generic.Strategy:
    """Return the strategy of the objects of a resource; its other versions and names share it."""
    return _STRATEGIES[resource]


def _strategies() -> dict[resources.ResourceType, generic.Strategy]:
    served = {*resources.ALL, *resources.OPTIONAL}
    stored = {resources.table_of(item) for item in served}
    made = {
        item: _KINDS.get(item, generic.Strategy)(item, _RULES.get(item, generic.NO_RULES))
        for item in stored
    }
    return {item: made[resources.table_of(item)] for item in served | stored}


_STRATEGIES = _strategies()
