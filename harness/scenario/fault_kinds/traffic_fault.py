"""The base of faults of API calls and watch events: target, rule of a carrier, and refusals.

A carrier applies the first fault that matches a call or event, in the order of the scenario, and
only that one (`faults.injection.Faults.strike`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import pydantic

from harness.faults import injection, matching
from harness.scenario.fault_kinds import fault
from harness.scenario.fields import PositiveCount, Probability, Spec

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
_ALL = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_POSSIBLE: Mapping[injection.Point, tuple[str, ...]] = {
    "request": _ALL,
    "response": tuple(verb for verb in _ALL if verb != "watch"),
    "event": ("watch",),
}
"""The verbs that a fault can apply to, by its point."""


class TargetSpec(Spec):
    """The calls or watches that a fault applies to; every condition must hold."""

    role: fault.Role = "scheduler"
    """The processes whose calls are hit."""
    verbs: list[Verb] = []
    """Verbs; empty: those that the kind of fault can apply to."""
    resource: str = ""
    """Plural name of the resource, as in `resourceclaims`; empty: any."""
    subresource: str | None = None
    """Name of the subresource, as in `status`; empty: calls of the object itself only; left out:
    any."""
    name: str = ""
    """Shell pattern for the object's name, as in `claim-*`; empty: any."""


class TrafficFault(fault.Fault):
    """Keys of faults that apply to API calls and watch events."""

    on: TargetSpec = TargetSpec()
    """The calls or watches that are hit."""
    skip: Annotated[int, pydantic.Field(ge=0, le=1_000_000)] = 0
    """Number of matching calls or events to pass over first."""
    every: Annotated[int, pydantic.Field(ge=1, le=1_000_000)] = 1
    """Hit each n-th matching call or event after those; 1: all."""
    times: PositiveCount | None = None
    """Hit at most this many; left out: no limit."""
    probability: Probability = 1.0
    """Probability of hitting one that the other keys select; drawn from the run's seed."""
    duration_s: fault.Delay | None = None
    """Seconds until the fault is healed; left out: until the load has ended."""

    at: ClassVar[injection.Point]
    """The point at which it applies."""
    acts: ClassVar[type[Any]]
    """The action of a carrier; its fields are keys of the fault."""
    does: ClassVar[str]
    """The effect on a call or event, in a clause; keys of the fault are replaced."""
    only_verbs: ClassVar[tuple[str, ...]] = ()
    """The verbs that it can apply to; empty: all that its point allows."""
    is_of_bookmarks: ClassVar[bool] = False
    needs_server: ClassVar[bool] = False
    """True if only the embedded API server can carry it."""

    @property
    def point(self) -> injection.Point:
        return self.at

    @property
    def possible_verbs(self) -> tuple[str, ...]:
        return self.only_verbs or _POSSIBLE[self.point]

    @property
    def verbs(self) -> tuple[str, ...]:
        return tuple(self.on.verbs) or self.possible_verbs

    @property
    def action(self) -> injection.Action:
        """The action of the carrier; what the kind has no key for is as by default."""
        keys = [name for name in self.acts.__struct_fields__ if hasattr(self, name)]
        made: injection.Action = self.acts(**{name: getattr(self, name) for name in keys})
        return made

    def rule(self, name: str, *, clients: Sequence[str], seed: int) -> injection.FaultSpec:
        """Return the rule of a carrier; `seed` is that of its probability."""
        return injection.FaultSpec(
            name=name,
            point=self.point,
            action=self.action,
            match=matching.Match(
                clients=tuple(clients),
                verbs=self.verbs,
                resource=self.on.resource,
                subresource=self.on.subresource,
                name=self.on.name,
                event_types=("BOOKMARK",) if self.is_of_bookmarks else (),
            ),
            skip=self.skip,
            every=self.every,
            count=self.times,
            probability=self.probability,
            seed=seed,
        )

    def clients(self, run: fault.Run) -> list[str]:
        return run.processes[self.on.role]

    # ------------------------------------------------------------------------- refusals

    def objections(self, run: fault.Run) -> Iterator[str]:
        yield from fault.role_objections(self.on.role, run)
        if not {*self.on.verbs} <= {*self.possible_verbs}:
            yield (
                f"expected on.verbs among {', '.join(self.possible_verbs)} for {self.kind}, got "
                f"{', '.join(self.on.verbs)}: leave the others out, or make a fault for each"
            )

    # ---------------------------------------------------------------------------- words

    @property
    def warning(self) -> str:
        if self.on.role == "recorder":
            return " The recorder's evidence is not complete then, so that the verdict is UNKNOWN."
        return ""

    def what(self, clients: Sequence[str]) -> str:
        does = self.does.format(**self.words)
        return f"{self._amount}{self._target} of {' and '.join(clients)} {does}"

    @property
    def _amount(self) -> str:
        bounds = []
        if self.times is not None:
            bounds.append(f"at most {self.times}")
        if self.skip:
            bounds.append(f"after the first {self.skip}")
        if self.probability < 1:
            bounds.append(f"with probability {self.probability:g}")
        each = "each " if self.every == 1 else f"each {_ordinal(self.every)} "
        return each + (f"({', '.join(bounds)}) " if bounds else "")

    @property
    def _target(self) -> str:
        on = self.on
        resource = on.resource or "any resource"
        if on.subresource:
            resource += f"/{on.subresource}"
        if on.name:
            resource += f" named {on.name}"
        if self.point == "event":
            return f"{'bookmark' if self.is_of_bookmarks else 'watch event'} of {resource}"
        named = "call" if self.verbs == self.possible_verbs else " or ".join(self.verbs)
        return f"{named} of {resource}"


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else endings.get(number % 10, 'th')}"
