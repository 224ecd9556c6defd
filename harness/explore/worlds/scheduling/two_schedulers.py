"""Two schedulers with different names, which know of each other only by the API."""

from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, reservations

NAMES = ("scheduler-1", "scheduler-2")


class TwoSchedulers(small_world.SmallWorld):
    """Two schedulers, each with pods of its own."""

    schedulers_named = NAMES
    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)


class OneClaim(TwoSchedulers):
    """Pods of both schedulers use one claim: the first to allocate it wins."""

    def begin(self) -> None:
        """Create the pods, in turn for each scheduler."""
        for index in range(self.sizes["pods"]):
            name = NAMES[index % len(NAMES)]
            self.create(world_fixtures.pod(f"pod-{index + 1}", "claim-1", scheduler=name))


class OneDevice(TwoSchedulers):
    """Each pod has a claim of its own: neither scheduler sees what the other one plans."""

    def begin(self) -> None:
        """Create the pods, in turn for each scheduler."""
        for index in range(self.sizes["claims"]):
            name = NAMES[index % len(NAMES)]
            self.create(
                world_fixtures.pod(f"pod-{index + 1}", f"claim-{index + 1}", scheduler=name)
            )

    @property
    def finding(self) -> str | None:
        """Description of the first violation, with the names of both schedulers."""
        found = super().finding
        return found and f"{found}, by {' and '.join(NAMES)}"


WORLDS: dict[str, world_specs.WorldSpec] = {
    "two-schedulers-one-claim": world_specs.spec(
        OneClaim,
        "pods of two schedulers use one claim; both allocate it",
        pods=(2, 2),
        devices=(2, 1),
        binders=(1, 1),
    ),
    "two-schedulers-one-device": world_specs.spec(
        OneDevice,
        "kubernetes#128980: two schedulers do not know of each other's plans",
        claims=(2, 2),
        devices=(1, 1),
        binders=(1, 1),
    ),
}
