"""The objects of a scenario as the embedded API server validates them."""

from harness.apiserver.validation import claims as claim_rules
from harness.apiserver.validation import slices as slice_rules
from harness.cluster.fake_nodes import pool_slices
from harness.scenario import specs
from harness.traffic import objects


def problems(scenario: specs.Scenario) -> list[str]:
    """Return why slices of the first node, of the cluster, or claims would be rejected."""
    pools = scenario.pools
    slices = [
        *pool_slices.of_node(pools, f"{pools.node_prefix}0", labels={}),
        *pool_slices.of_cluster(pools, labels={}),
    ]
    claims = [{"spec": objects.claim_spec(claim, pools)} for claim in scenario.claim_kinds]
    causes = [cause for item in slices for cause in slice_rules.device_slice(item)]
    causes += [cause for item in claims for cause in claim_rules.claim(item)]
    return [cause.text() for cause in causes]
