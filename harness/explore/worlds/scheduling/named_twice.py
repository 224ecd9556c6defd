"""A pod names one claim in two of its entries; another pod needs a device meanwhile."""

from collections.abc import Iterable

from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, panels, reservations
from harness.model.objects import Object

DEVICES = 3
"""Each entry is planned with a device of its own, and the other pod needs one."""


class NamedTwice(small_world.SmallWorld):
    """A pod with two entries for one claim, and a pod with a claim of its own."""

    def objects(self) -> Iterable[Object]:
        """Return a node with devices, and both claims."""
        yield world_fixtures.node()
        yield world_fixtures.device_class()
        yield world_fixtures.pool(world_fixtures.devices(DEVICES))
        yield world_fixtures.claim("claim-1")
        yield world_fixtures.claim("claim-2")

    def oracles(self) -> Iterable[panels.Oracle]:
        """Return those of devices and reservations."""
        return device_exclusivity.DeviceExclusivity(), reservations.Reservations()

    def begin(self) -> None:
        """Create both pods."""
        self.create(world_fixtures.pod_naming_twice("pod-1", "claim-1"))
        self.create(world_fixtures.pod("pod-2", "claim-2"))


WORLDS: dict[str, world_specs.WorldSpec] = {
    "claim-named-twice": world_specs.WorldSpec(
        title="a pod names its claim twice, and another pod needs a device meanwhile",
        make=NamedTwice,
        sizes={"binders": world_specs.ANY_BINDERS},
    ),
}
