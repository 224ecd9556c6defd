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
from harness.apiserver.validation.core import pod_group_rules, small_kinds
from harness.apiserver.validation.dra import (
    claim_status,
    device_classes,
    device_taints,
    resource_claims,
    resource_slices,
)
from harness.apiserver.validation.pod import pod_spec, pod_status

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
    resources.CLAIMS: Rules(
        resource_claims.claim, resource_claims.claim_change, claim_status.claim_status_change
    ),
    resources.CLAIM_TEMPLATES: Rules(resource_claims.template, resource_claims.template_change),
    resources.CONFIGMAPS: Rules(small_kinds.config_map, small_kinds.config_map_change),
    resources.DEVICE_CLASSES: Rules(device_classes.device_class, device_classes.device_class),
    resources.LEASES: Rules(small_kinds.lease, lambda lease, _: small_kinds.lease(lease)),
    resources.NAMESPACES: Rules(small_kinds.namespace),
    resources.NODES: Rules(small_kinds.node, small_kinds.node_change),
    resources.POD_GROUPS: Rules(
        pod_group_rules.pod_group,
        pod_group_rules.pod_group_change,
        pod_group_rules.pod_group_status,
    ),
    resources.PODS: Rules(pod_spec.pod, pod_spec.pod_change, pod_status.pod_status_change),
    resources.PRIORITY_CLASSES: Rules(
        small_kinds.priority_class, small_kinds.priority_class_change
    ),
    resources.SLICES: Rules(resource_slices.device_slice, resource_slices.device_slice),
    resources.TAINT_RULES: Rules(
        device_taints.taint_rule, device_taints.taint_rule, device_taints.taint_rule_status
    ),
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
