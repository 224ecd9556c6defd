"""A driver publishes a new generation of its pool while pods are being scheduled."""

import functools
from collections.abc import Iterable

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.model.objects import Object

SLICES = ("slice-1", "slice-2")
NEW = "new-"
"""Prefix of the devices of the new generation."""


class NewGeneration(small_world.SmallWorld):
    """A pool of two slices gets a new generation, one slice after the other.

    Between these writes the pool is incomplete. The first devices are gone
    afterwards, and there are enough others for all pods. The last pod comes when all is at rest.
    """

    def objects(self) -> Iterable[Object]:
        """Return a node with a pool of two slices with a device each, and the claims."""
        yield world_fixtures.node()
        yield world_fixtures.device_class()
        for name in SLICES:
            yield _slice(name, generation=1, devices=[{"name": f"device-of-{name}"}])
        for index in range(self.sizes["pods"]):
            yield world_fixtures.claim(f"claim-{index + 1}")

    def begin(self) -> None:
        """Create all pods but the last, and start the driver."""
        for number in range(1, self.sizes["pods"]):
            self._create_pod(number)
        concurrency.spawn("driver", self._publish)

    def go_on(self) -> bool:
        """Create the last pod, once."""
        name = f"pod-{self.sizes['pods']}"
        if self.store.has(resources.PODS, world_fixtures.NAMESPACE, name):
            return False
        self._create_pod(self.sizes["pods"])
        return True

    def _create_pod(self, number: int) -> None:
        self.create(world_fixtures.pod(f"pod-{number}", f"claim-{number}"))

    def _publish(self) -> None:
        for name in SLICES:
            self.runtime.point()
            listed = [{"name": f"{NEW}{name}-{index}"} for index in range(self.sizes["pods"])]
            new = _slice(name, generation=2, devices=listed)
            with self.runtime.atomically():
                self.store.patch(
                    resources.SLICES, "", name, functools.partial(_with_spec, new["spec"])
                )

    def unfinished(self) -> str | None:
        """Return whether the last pod has a device that was gone before it came, or is stuck."""
        name = f"claim-{self.sizes['pods']}"
        claim = self.store.get(resources.CLAIMS, world_fixtures.NAMESPACE, name).document()
        results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results")
        for result in results or ():
            if not result["device"].startswith(NEW):
                return f"gone: {name} got {result['device']}, which the pool has no longer"
        return super().unfinished()


def _slice(name: str, *, generation: int, devices: list[Object]) -> Object:
    pool = {
        "name": world_fixtures.NODE,
        "generation": generation,
        "resourceSliceCount": len(SLICES),
    }
    return world_fixtures.pool(devices, slice_name=name, pool=pool)


def _with_spec(spec: Object, document: Object) -> Object:
    return {**document, "spec": spec}


WORLDS: dict[str, world_specs.WorldSpec] = {
    "new-generation": world_specs.spec(
        NewGeneration,
        "a pool gets a new generation, slice by slice, in the middle of attempts",
        private_locks=world_specs.contended("inventory", "slice-tracker"),
        pods=(3, 2),
        binders=world_specs.ANY_BINDERS,
    ),
}
