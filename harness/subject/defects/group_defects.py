"""Known defects that concern PodGroups and their claims."""

from collections.abc import Callable

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocators
from harness.subject.claim_control import pod_syncing
from harness.subject.objects import claims, pod_groups
from harness.subject.plugin import dynamic_resources, scheduling_attempts


class MixedUpPlansPlugin(dynamic_resources.DynamicResources):
    """A pod that shares the plan of its group's claim gets the devices of its claims mixed up.

    Hypothesis H24. While a claim of a PodGroup is in flight for one pod, the next pod of the group
    takes over its plan. Filter puts what is planned for the pod's own claims first and the plan
    that was taken over behind; Reserve and PreBind go by the order of the pod's claims. So the
    group's claim gets the device of the pod's own one, which the books do not have: they keep the
    first plan. Another pod may be given the same device. Nor is the pod kept to the nodes of the
    plan that it takes over (kubernetes#140087).

    `allocations = append(allocationResult, pendingResult...)` in `Filter` of
    pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, since 1.36 with the gates
    GenericWorkload and DRAWorkloadResourceClaims. Correct code waits until the claim is allocated.
    """

    facts = replacements.Facts(
        name="group-plans-mixed-up",
        issues=("kubernetes#140087",),
        releases=replacements.Releases(first="1.36", last="1.36.3", given="with PodGroup claims"),
        worlds=("grouped-pods",),
    )

    def _require_not_in_flight(self, claim: Object) -> None:
        if not self._planned_for(claim, self._pod):
            super()._require_not_in_flight(claim)

    def _claims_of(self, pod: Object) -> list[Object]:
        self._pod = pod  # only the scheduling thread asks
        return super()._claims_of(pod)

    def _planned_for(self, claim: Object, pod: Object) -> Object | None:
        """Return the plan of a claim that is in flight for the pod's group, None if it is not."""
        group = self._group_of(pod)
        names = [entry.get("resourceClaimName") for entry in claims.entries_of(pod)]
        is_shared = claims.controller_uid(claim) == (claims.uid_of(group) if group else None)
        is_named = claim["metadata"]["name"] in names and any(
            pod_groups.has_entry(group, entry) for entry in claims.entries_of(pod)
        )
        if group is None or not (is_shared or is_named):
            return None
        planned = (item for item in self._in_flight.listed())
        found = (item for item in planned if claims.uid_of(item) == claims.uid_of(claim))
        return next(filter(None, map(claims.allocation_of, found)), None)

    def _allocator_maker(
        self, attempt: scheduling_attempts.Attempt
    ) -> Callable[..., allocators.Allocator]:
        """Take over plans, and look for devices for the other claims only."""
        indexes = attempt.to_allocate
        plans = {index: self._planned_for(attempt.claims[index], attempt.pod) for index in indexes}
        self._taken_over = {index: plan for index, plan in plans.items() if plan is not None}
        attempt.to_allocate = [index for index in indexes if index not in self._taken_over]
        try:
            return super()._allocator_maker(attempt)
        finally:
            attempt.to_allocate = indexes

    def filter(self, attempt: scheduling_attempts.Attempt, node: Object) -> list[Object] | None:
        """Put the plans that were taken over behind the others."""
        allocations = super().filter(attempt, node)
        if allocations is None or not attempt.to_allocate:
            return allocations
        return [*allocations, *self._taken_over.values()]


class GroupsIgnoredPodSyncer(pod_syncing.PodSyncer):
    """A pod of a PodGroup gets claims of its own for the entries that are its group's.

    As kube-controller-manager 1.36 does if its gate DRAWorkloadResourceClaims is off and that of
    the API server is on: it treats pods as if they had no group. Seen with 1.36.3, which then never
    released what the scheduler had reserved for the group. Fixed in 1.37 (kubernetes#138363): such
    a pod gets no claims.
    """

    facts = replacements.Facts(
        name="group-claims-made-for-pods",
        check="generated_claims",
        issues=("kubernetes#138363",),
        releases=replacements.Releases(
            first="1.36", last="1.36.3", given="with the gate on in the API server only"
        ),
    )

    def _group_of(self, pod: Object) -> Object | None:
        del pod
        return None

    def _lacks_group(self, pod: Object, group: Object | None) -> bool:
        del pod, group
        return False
