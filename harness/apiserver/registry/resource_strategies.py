"""The strategy and the validation of each resource."""

import functools

from harness.apiserver.registry.strategies import dra_kinds, pods
from harness.apiserver.registry.strategies import small_kinds as kinds
from harness.apiserver.registry.strategies.generic import Rules, Strategy
from harness.apiserver.scheme import resources
from harness.apiserver.validation import claims, slices, small_kinds
from harness.apiserver.validation import pods as pod_rules

_KINDS: dict[resources.ResourceType, tuple[type[Strategy], Rules]] = {
    resources.CLAIMS: (
        dra_kinds.ClaimStrategy,
        Rules(claims.claim, claims.claim_change, claims.claim_status_change),
    ),
    resources.CLAIM_TEMPLATES: (
        dra_kinds.ClaimStrategy,
        Rules(claims.template, claims.claim_change),
    ),
    resources.CONFIGMAPS: (Strategy, Rules(small_kinds.config_map, small_kinds.config_map_change)),
    resources.DEVICE_CLASSES: (Strategy, Rules(claims.device_class, claims.device_class)),
    resources.EVENTS: (kinds.EventStrategy, Rules()),
    resources.LEASES: (kinds.LeaseStrategy, Rules(small_kinds.lease, small_kinds.lease)),
    resources.NAMESPACES: (kinds.NamespaceStrategy, Rules(small_kinds.namespace)),
    resources.NODES: (kinds.NodeStrategy, Rules(small_kinds.node, small_kinds.node)),
    resources.POD_GROUPS: (
        kinds.PodGroupStrategy,
        Rules(small_kinds.pod_group, small_kinds.pod_group_change, small_kinds.pod_group_status),
    ),
    resources.PODS: (
        pods.PodStrategy,
        Rules(pod_rules.pod, pod_rules.pod_change, pod_rules.pod_status_change),
    ),
    resources.SLICES: (dra_kinds.SliceStrategy, Rules(slices.device_slice, slices.device_slice)),
    resources.TAINT_RULES: (
        dra_kinds.TaintRuleStrategy,
        Rules(slices.taint_rule, slices.taint_rule, slices.taint_rule_status),
    ),
}


@functools.cache
def of(resource: resources.ResourceType) -> Strategy:
    """Return the strategy of the objects of a resource, in the version in which it is stored."""
    table = resources.table_of(resource)
    strategy, rules = _KINDS.get(table, (Strategy, Rules()))
    return strategy(table, rules)
