"""A pod names one claim in two of its entries; another pod needs a device meanwhile."""

from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, reservations

DEVICES = 3
"""Each entry is planned with a device of its own, and the other pod needs one."""


class NamedTwice(small_world.SmallWorld):
    """A pod with two entries for one claim, and a pod with a claim of its own."""

    device_count = DEVICES
    claim_count = 2
    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)

    def begin(self) -> None:
        """Create both pods."""
        self.create(world_fixtures.pod_naming_twice("pod-1", "claim-1"))
        self.create(world_fixtures.pod("pod-2", "claim-2"))


WORLDS: dict[str, world_specs.WorldSpec] = {
    "claim-named-twice": world_specs.spec(
        NamedTwice,
        "a pod names its claim twice, and another pod needs a device meanwhile",
        binders=world_specs.ANY_BINDERS,
    ),
}
