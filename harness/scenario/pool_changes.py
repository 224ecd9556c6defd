"""The keys of `pools.changes` in a scenario file: how drivers change their pools during a run."""

from typing import Annotated, Literal, TypeAlias

import pydantic

from harness.scenario.fields import PositiveCount, Seconds, Spec

CHANGES_MAX = 32
TIMES_MAX = 10_000
DEVICES_MAX = 1280


class PoolChange(Spec):
    """Keys of every change. Which pools and devices it hits is drawn from the run's seed."""

    start_s: Seconds = 0.5
    """Seconds from the first pod whose claims are prepared on a node until the first time."""
    every_s: Annotated[float, pydantic.Field(gt=0, le=86_400)] = 1.0
    """Seconds from one time to the next; a time that is late follows the one before at once."""
    times: Annotated[int, pydantic.Field(ge=1, le=TIMES_MAX)] = 1
    """How often it happens; a run in which it happens less often is UNKNOWN."""
    pools: Annotated[int, pydantic.Field(ge=0, le=5000)] = 1
    """Number of pools that change each time; 0: all."""
    pause_s: Seconds = 0.02
    """Seconds between two slices of a pool that are written, in which the pool is incomplete."""

    @property
    def lasting_s(self) -> float:
        return getattr(self, "lasts_s", None) or 0.0


class Temporary(PoolChange):
    """Keys of changes that can be undone."""

    devices: Annotated[int, pydantic.Field(ge=1, le=DEVICES_MAX)] = 1
    """Number of devices of each pool."""
    lasts_s: Seconds | None = 1.0
    """Seconds until the change is undone; None: it stays."""


class Grow(Temporary):
    """A pool gets devices that it never had; undone, it loses them."""

    kind: Literal["grow"]


class Shrink(Temporary):
    """A pool loses devices, also such that claims hold; undone, it has them again."""

    kind: Literal["shrink"]


class Unshare(Temporary):
    """Devices cannot be shared any more, also such of which claims have shares; undone, they
    can."""

    kind: Literal["unshare"]


class Taint(Temporary):
    """Devices are tainted; undone, they are not."""

    kind: Literal["taint"]
    devices: Annotated[int, pydantic.Field(ge=0, le=DEVICES_MAX)] = 1
    """Number of devices of each pool; 0: all, by a rule for the whole pool."""
    by: Literal["slice", "rule"] = "slice"
    """slice: the driver publishes the taint with its devices. rule: an administrator creates a
    DeviceTaintRule for each device or for the pool, which the cluster must serve."""
    effect: Literal["NoSchedule", "NoExecute", "None"] = "NoSchedule"
    """NoExecute also evicts the pods that use the devices and do not tolerate it."""


class Renew(PoolChange):
    """A pool gets a new generation with the same devices, one slice after another."""

    kind: Literal["renew"]
    slices: Annotated[int, pydantic.Field(ge=0, le=64)] = 0
    """Number of slices of the new generation, if no slice then has too many devices; 0: as few as
    can be. With several, the pool is incomplete until the last one is written."""


class Flap(PoolChange):
    """All slices of a pool are deleted, and created again."""

    kind: Literal["flap"]
    lasts_s: Seconds = 0.2
    """Seconds for which there are none."""


class Republish(PoolChange):
    """The driver writes its slices again with the same devices; one attribute changes."""

    kind: Literal["republish"]


AnyPoolChange: TypeAlias = Annotated[
    Grow | Shrink | Unshare | Taint | Renew | Flap | Republish, pydantic.Field(discriminator="kind")
]


class PoolChanges(Spec):
    """The settings file of the fake kubelets for changes."""

    changes: Annotated[list[AnyPoolChange], pydantic.Field(max_length=CHANGES_MAX)]
    """Changes as in `pools.changes` of a scenario."""

    @property
    def demanded(self) -> dict[str, PositiveCount]:
        return {name: change.times for name, change in self.named().items()}

    def named(self) -> dict[str, AnyPoolChange]:
        return {f"{item.kind}-{number}": item for number, item in enumerate(self.changes, start=1)}


def is_by_rule(change: AnyPoolChange) -> bool:
    return isinstance(change, Taint) and change.by == "rule"
