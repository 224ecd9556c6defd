"""Known defects that concern PodGroups and their claims."""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.allocation import allocators
from harness.subject.claim_control import pod_syncing
from harness.subject.objects import claims, pod_groups
from harness.subject.plugin import dynamic_resources, scheduling_attempts


@replacements.known_as("group-plans-mixed-up")
class MixedUpPlansPlugin(dynamic_resources.DynamicResources):
    def _require_not_in_flight(self, claim: Object) -> None:
        if not self._planned_for(claim, self._pod):
            super()._require_not_in_flight(claim)

    def _claims_of(self, pod: Object) -> list[Object]:
        self._pod = pod  # only the scheduling thread asks
        return super()._claims_of(pod)

    def _planned_for(self, claim: Object, pod: Object) -> Object | None:
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

    def _allocator_for(self, attempt: scheduling_attempts.Attempt) -> allocators.Allocator:
        indexes = attempt.to_allocate
        plans = {index: self._planned_for(attempt.claims[index], attempt.pod) for index in indexes}
        self._taken_over = {index: plan for index, plan in plans.items() if plan is not None}
        attempt.to_allocate = [index for index in indexes if index not in self._taken_over]
        try:
            return super()._allocator_for(attempt)
        finally:
            attempt.to_allocate = indexes

    def filter(self, attempt: scheduling_attempts.Attempt, node: Object) -> list[Object] | None:
        allocations = super().filter(attempt, node)
        if allocations is None or not attempt.to_allocate:
            return allocations
        return [*allocations, *self._taken_over.values()]


@replacements.known_as("group-claims-made-for-pods")
class GroupsIgnoredPodSyncer(pod_syncing.PodSyncer):
    def _group_of(self, pod: Object) -> Object | None:
        del pod
        return None

    def _lacks_group(self, pod: Object, group: Object | None) -> bool:
        del pod, group
        return False
