"""A world as data: its parts, each of which can be left out, and when they happen."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from harness.explore.worlds import world_fixtures
from harness.model.objects import Object

Kind = Literal["pool", "claim", "pod", "action", "actor", "fault"]
START, BEGIN, ANY_TIME, AT_REST = "start", "begin", "any-time", "at-rest"
"""When a part happens: before the run, at its beginning, whenever the strategy lets it, or when all
is at rest.

Other moments are those of an object, or of any (see `moments`): `bound pod-1`, `allocated`. Of
several ones, separated by commas, each is awaited.
"""
CONTROLLER, KUBELETS, DEVICE_DRIVER = "controller", "kubelets", "device-driver"
"""Names of actors: the second one starts all kubelets, the third reports which devices are ready.
"""
EVICTING, UNGUARDED = "evicting", "unguarded"
"""Targets of actors: a claim controller that evicts pods by taints of their devices, and kubelets
whose driver does not refuse a device that another claim holds prepared."""
SECOND_SCHEDULER = "scheduler-2"
"""Name of the actor; the name that pods have for it is that of `world_fixtures`."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An object with what belongs to it, an actor, something that another client does, or a fault.

    A part without one that it needs is left out.
    """

    name: str
    kind: Kind
    needs: tuple[str, ...] = ()
    documents: tuple[Object, ...] = ()
    """The objects to create, in this order."""
    when: str = START
    is_at_once: bool = False
    """True if it is part of the commit that brings its moment; else another client does it, which
    hears of that moment."""
    does: str = ""
    """The method of `actions.Actions`; empty: the objects are created."""
    target: str = ""
    """The name of the object that something is done to, or how an actor differs from others."""
    is_own: bool = False
    """True if it is there only for the parts that need it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """All that there is in a world."""

    parts: tuple[Part, ...]
    numbers: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Numbers that can be lowered, such as that of binding threads."""
    nodes: tuple[str, ...] = ()
    """The names of the nodes, which are always there."""
    schedulers: tuple[str, ...] = (world_fixtures.SCHEDULER,)
    """The names of the schedulers, but for one that is an actor of its own."""
    features: tuple[str, ...] = ()
    """The features that a drawn world has, each once, as `request: All devices`."""
    is_of_node: bool = False
    """True if it is about the claims of one node's kubelet."""

    def included(self, sizes: Mapping[str, int]) -> "Setting":
        """Return the world without the parts whose size is 0, and without those that need them."""
        kept = {part.name: part for part in self.parts if sizes.get(part.name, 1)}
        while missing := {name for name, part in kept.items() if not set(part.needs) <= {*kept}}:
            kept = {name: part for name, part in kept.items() if name not in missing}
        needed = {name for part in kept.values() for name in part.needs}
        parts = [part for part in kept.values() if part.name in needed or not part.is_own]
        return dataclasses.replace(self, parts=tuple(parts))

    def of_kind(self, kind: Kind) -> Iterator[Part]:
        return (part for part in self.parts if part.kind == kind)

    def has(self, names: Collection[str]) -> bool:
        return any(part.name in names for part in self.parts)

    def does(self, *actions: str) -> bool:
        return any(part.does in actions for part in self.parts)
