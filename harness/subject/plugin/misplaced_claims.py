"""Allocations that keep a pod from nodes: Filter finds them, and PostFilter frees one.

After Filter and PostFilter in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

import random

from harness import concurrency
from harness.client import apis
from harness.model.objects import Object
from harness.subject.extended_resources import extended_claims
from harness.subject.objects import claims, nodes
from harness.subject.plugin import scheduling_attempts

DEALLOCATED = "deallocation of ResourceClaim completed"
DELETED = "deletion of ResourceClaim completed"
NOTHING_TO_FREE = "still not schedulable"
"""The answers of PostFilter; kube-scheduler's words."""


def on(attempt: scheduling_attempts.Attempt, node: Object) -> set[int]:
    """Return the indexes of claims whose existing allocation cannot be used on the node."""
    allocations = [claims.allocation_of(claim) for claim in attempt.claims]
    return {
        index
        for index, allocation in enumerate(allocations)
        if index in attempt.given_up
        or (allocation and not nodes.selects(allocation.get("nodeSelector"), node))
    }


def free_one(
    api: apis.Api,
    attempt: scheduling_attempts.Attempt,
    choices: random.Random,
    *,
    group_runs: bool = False,
) -> str:
    """Free what keeps the pod from every node, because no node fits; return what was done.

    `group_runs`: a pod of the pod's group is on a node, or about to be bound.

    Deallocate one unused claim whose allocation ruled out a node; else delete the claim for
    extended resources that an earlier attempt left. Raises ApiError or TransportError.
    """
    for index in choices.sample(sorted(attempt.unavailable), len(attempt.unavailable)):
        claim = attempt.claims[index]
        if not _is_used_by_others(claim, attempt, index, group_runs=group_runs):
            concurrency.step("post-filter.deallocating", claim=claims.uid_of(claim))
            freed = claims.with_status(claim, allocation=None, reservedFor=None, devices=None)
            api.update_status(apis.CLAIMS, freed)
            return DEALLOCATED
    if attempt.left_over is None:
        return NOTHING_TO_FREE
    extended_claims.delete(api, attempt.left_over)
    return DELETED


def _is_used_by_others(
    claim: Object, attempt: scheduling_attempts.Attempt, index: int, *, group_runs: bool
) -> bool:
    user = attempt.user_of(index)
    if user is not attempt.pod and group_runs:
        return True
    reserved = [entry["uid"] for entry in claims.reservations_of(claim)]
    return any(uid != claims.uid_of(user) for uid in reserved)
