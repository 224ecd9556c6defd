"""The strategy of each resource."""

from harness.apiserver.registry.strategies import (
    api_extensions,
    claim_templates,
    claims,
    config_maps,
    deployments,
    device_classes,
    events,
    generic,
    leases,
    namespaces,
    nodes,
    pods,
    priority_classes,
    slices,
    taint_rules,
)
from harness.apiserver.scheme import resources

_KINDS: dict[resources.ResourceType, type[generic.Strategy]] = {
    resources.CLAIMS: claims.ClaimStrategy,
    resources.CLAIM_TEMPLATES: claim_templates.ClaimTemplateStrategy,
    resources.CONFIGMAPS: config_maps.ConfigMapStrategy,
    resources.DEFINITIONS: api_extensions.DefinitionStrategy,
    resources.DEPLOYMENTS: deployments.DeploymentStrategy,
    resources.DEVICE_CLASSES: device_classes.DeviceClassStrategy,
    resources.EVENTS: events.EventStrategy,
    resources.LEASES: leases.LeaseStrategy,
    resources.NAMESPACES: namespaces.NamespaceStrategy,
    resources.NODES: nodes.NodeStrategy,
    resources.PODS: pods.PodStrategy,
    resources.PRIORITY_CLASSES: priority_classes.PriorityClassStrategy,
    resources.SECRETS: config_maps.SecretStrategy,
    resources.SLICES: slices.SliceStrategy,
    resources.TAINT_RULES: taint_rules.TaintRuleStrategy,
    resources.ADMISSION_POLICIES: api_extensions.AdmissionPolicyStrategy,
}


def of(resource: resources.ResourceType) -> generic.Strategy:
    """Return the strategy of the objects of a resource; its other versions and names share it."""
    return _STRATEGIES[resource]


def _strategies() -> dict[resources.ResourceType, generic.Strategy]:
    served = {*resources.ALL, *resources.OPTIONAL}
    stored = {resources.table_of(item) for item in served}
    made = {item: _KINDS.get(item, generic.Strategy)(item) for item in stored}
    return {item: made[resources.table_of(item)] for item in served | stored}


_STRATEGIES = _strategies()
