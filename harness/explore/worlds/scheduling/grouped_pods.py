"""Pods of a PodGroup that use its claim, one of them beside a claim of its own."""

import dataclasses

from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.model.objects import Object
from harness.subject.plugin import dynamic_resources
from harness.subject.scheduling import schedulers

GROUP: Object = {
    "metadata": {
        "name": "group-1",
        "namespace": world_fixtures.NAMESPACE,
        "uid": "00000000-0000-4000-8000-000000000003",
    },
    "spec": {
        "schedulingPolicy": {"basic": {}},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "claim-1"}],
    },
}
"""The group, which the scheduler knows; the API server of a world has no PodGroups."""
MEMBERS = ("pod-1", "pod-2")
CLAIMS = 3


class GroupedPods(small_world.SmallWorld):
    """Two pods of a group, and a third pod with a claim of its own; there are enough devices."""

    device_count = claim_count = CLAIMS

    def scheduler_of(self, name: str, parts: schedulers.SchedulerParts) -> schedulers.Scheduler:
        """Return a scheduler that knows the group of the members."""
        return super().scheduler_of(name, dataclasses.replace(parts, plugin=_knowing(parts.plugin)))

    def begin(self) -> None:
        """Create the pods."""
        self.create(_pod("pod-1", gpu="claim-1"))
        self.create(_pod("pod-2", gpu="claim-1", own="claim-2"))
        self.create(_pod("pod-3", own="claim-3"))


def _pod(name: str, **entries: str) -> Object:
    pod = world_fixtures.pod(name, "")
    pod["spec"]["resourceClaims"] = [
        {"name": entry, "resourceClaimName": claim} for entry, claim in entries.items()
    ]
    return pod


def _knowing(
    plugin: type[dynamic_resources.DynamicResources],
) -> type[dynamic_resources.DynamicResources]:
    class Knowing(plugin):  # type: ignore[valid-type, misc]
        def _group_of(self, pod: Object) -> Object | None:
            return GROUP if pod["metadata"]["name"] in MEMBERS else None

    return Knowing


WORLDS: dict[str, world_specs.WorldSpec] = {
    "grouped-pods": world_specs.spec(
        GroupedPods,
        "two pods of a PodGroup share its claim, and one of them has a claim of its own",
        binders=world_specs.ANY_BINDERS,
    ),
}
