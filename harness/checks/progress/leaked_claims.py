"""Finds the claims in a state of the world that are kept, allocated or reserved for no pod.

Time is not considered, as for pods (`stuck_pods`).
"""

import dataclasses
from collections.abc import Iterator

from harness.checks import world_states
from harness.checks.observed import observed_claims
from harness.checks.progress import device_supply, stuck_pods

NAMES_MAX = 5
"""Pods that a text names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """The claims that could go."""

    stuck: list[stuck_pods.Stuck]
    robbed: int
    """Claims of pods of which the API server removed another claim in spite of its finalizer."""


def find(state: world_states.WorldState) -> Findings:
    wanted, stuck, robbed = set(_wanted(state)), list[stuck_pods.Stuck](), 0
    for claim in sorted(state.claims.values(), key=lambda claim: claim.metadata.key):
        found = _examined(state, claim, wanted)
        is_robbed = found is not None and not state.robbed.isdisjoint(claim.pods)
        robbed += is_robbed
        if found is not None and not is_robbed:
            stuck.append(found)
    return Findings(stuck, robbed)


def _wanted(state: world_states.WorldState) -> Iterator[str]:
    """Yield the claims, by namespace and name, that pods wait for or use."""
    for pod in state.pods.values():
        if not pod.has_ended and not pod.metadata.deletion_timestamp:
            for _, name in stuck_pods.claim_names(pod):
                yield f"{pod.metadata.namespace}/{name}"
            if (made := pod.status.extended_resource_claim_status) is not None:
                yield f"{pod.metadata.namespace}/{made.resource_claim_name}"


def _examined(
    state: world_states.WorldState, claim: observed_claims.Claim, wanted: set[str]
) -> stuck_pods.Stuck | None:
    users, meta = claim.status.reserved_for or (), claim.metadata
    stale = [item for item in users if not stuck_pods.is_user(state, item)]
    if len(stale) < len(users) or (not meta.deletion_timestamp and meta.key in wanted):
        return _stale(claim, stale) if stale else None
    if meta.deletion_timestamp:
        return stuck_pods.undeleted(claim)
    held = device_supply.exclusive(claim)
    holding = f"; it holds {', '.join(held)}" if held else ""
    if meta.owner is not None and stuck_pods.is_gone(state, meta.owner):
        told = f"was generated for a pod that is gone, but is not deleted{holding}"
        return stuck_pods.stuck(claim, "outlives its pod", told, is_garbage=not users)
    if claim.status.allocation is not None:
        told = f"is allocated, but no pod uses it{holding}"
        return stuck_pods.stuck(claim, "is leaked", told)
    return None


def _stale(claim: observed_claims.Claim, stale: list[observed_claims.Consumer]) -> stuck_pods.Stuck:
    names = ", ".join(f"{item.name} (uid {item.uid})" for item in stale[:NAMES_MAX])
    more = f" and {len(stale) - NAMES_MAX} more" * (len(stale) > NAMES_MAX)
    told = f"is still reserved for {len(stale)} pods that are gone or ended: {names}{more}"
    kind = "PodGroup" if stale[0].resource == "podgroups" else "pod"
    return stuck_pods.stuck(claim, f"is reserved for a {kind} that is gone", told)
