"""The base of faults of API calls and watch events: target, rule of a carrier, and refusals.

A carrier applies the first fault that matches a call or event, in the order of the scenario, and
only that one (`faults.injection.Faults.strike`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import pydantic

from harness import suggestions
from harness.faults import injection, matching
from harness.scenario.fault_kinds import fault
from harness.scenario.fields import PositiveCount, Probability, Spec

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
EventType = Literal["ADDED", "MODIFIED", "DELETED"]
_ALL = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_POSSIBLE: Mapping[injection.Point, tuple[str, ...]] = {
    "request": _ALL,
    "response": tuple(verb for verb in _ALL if verb != "watch"),
    "event": ("watch",),
}
"""The verbs that a fault can apply to, by its point."""
_OF_COLLECTIONS = {"list", "watch", "deletecollection"}
DRAWN_WRITES: Mapping[str, fault.Draw] = {
    "on": fault.one_of(
        {"resource": "resourceclaims", "subresource": "status", "verbs": ["update"]},
        {"resource": "pods", "subresource": "binding", "verbs": ["create"]},
        {"role": "claim-controller", "resource": "resourceclaims"},
        {"role": "kubelet", "resource": "pods", "subresource": "status"},
    ),
    "times": fault.whole(1, 20),
    "duration_s": fault.LASTING,
}
"""The keys of a drawn fault in some writes."""
DRAWN_WATCHES: Mapping[str, fault.Draw] = {
    "on": fault.one_of(
        {"resource": "resourceclaims"},
        {"resource": "pods"},
        {"role": "claim-controller", "resource": "pods"},
        {"role": "claim-controller", "resource": "resourceclaims"},
        {"role": "kubelet", "resource": "pods"},
    ),
    "duration_s": fault.LASTING,
}
"""The keys of a drawn fault in watches."""


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

    @property
    def resource_text(self) -> str:
        """The resource with its subresource, as in `pods/binding`; empty: any."""
        return self.resource + (f"/{self.subresource}" if self.subresource else "")

    def covers(self, other: "TargetSpec") -> bool:
        """Return whether every object and role of another target is one of this target."""
        return (
            self.role == other.role
            and self.resource in ("", other.resource)
            and self.subresource in (None, other.subresource)
            and self.name in ("", "*", other.name)
        )

    def selected(self, calls: fault.Calls, verbs: frozenset[str]) -> fault.Calls:
        return {
            key: hit for key, made in calls.items() if self._names(key) and (hit := made & verbs)
        }

    def _names(self, key: str) -> bool:
        resource, _, subresource = key.partition("/")
        return self.resource in ("", resource) and self.subresource in (None, subresource)


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
        """The point at which it applies with these keys."""
        return self.at

    @property
    def possible_verbs(self) -> tuple[str, ...]:
        return self.only_verbs or _POSSIBLE[self.point]

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs that it applies to: those of its target, or else all possible ones."""
        return tuple(self.on.verbs) or self.possible_verbs

    @property
    def events(self) -> Sequence[EventType | Literal["BOOKMARK"]]:
        """The types of watch events that it applies to; empty: all but bookmarks."""
        return ("BOOKMARK",) if self.is_of_bookmarks else getattr(self, "event_types", ())

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
                event_types=tuple(self.events),
            ),
            skip=self.skip,
            every=self.every,
            count=self.times,
            probability=self.probability,
            seed=seed,
        )

    def clients(self, run: fault.Run) -> list[str]:
        """Return the processes of the role."""
        return run.processes[self.on.role]

    def hides(self, other: "TrafficFault") -> bool:
        """Return whether it takes everything that a later fault matches, at all times."""
        return (
            (self.skip, self.every, self.times, self.probability) == (0, 1, None, 1.0)
            and self.start_after is None
            and self.start_s <= other.start_s
            and self.duration_s is None
            and self.point == other.point
            and set(other.verbs) <= set(self.verbs)
            and self.on.covers(other.on)
            and _types(other) <= _types(self)
        )

    # ------------------------------------------------------------------------- refusals

    def objections(self, run: fault.Run) -> Iterator[str]:
        """Yield why no call or event can be hit."""
        first = list(fault.role_objections(self.on.role, run)) or list(self._verb_objections())
        if first:
            yield from first
            return
        yield from self._target_objections()
        yield from self._call_objections(run)
        if self.on.name:
            yield from run.name_objections(self.on.resource, self.on.name)

    def _verb_objections(self) -> Iterator[str]:
        for verb in self.on.verbs:
            if verb not in self.possible_verbs and len(self.on.verbs) > 1 and verb == "watch":
                yield (
                    "expected on.verbs without watch beside others for "
                    f"{self.kind}: make two faults of it"
                )
            elif verb not in self.possible_verbs:
                yield (
                    f"expected on.verbs among {', '.join(self.possible_verbs)} for {self.kind}, "
                    f"got {verb}: leave the others out"
                )

    def _target_objections(self) -> Iterator[str]:
        on, is_event = self.on, self.point == "event"
        if on.name and self.is_of_bookmarks:
            yield (
                "expected no on.name, because bookmarks belong to no object, "
                f"got {on.name!r}: remove it"
            )
        elif is_event and on.subresource:
            yield (
                "expected no on.subresource, because watches show whole objects, got "
                f"{on.subresource!r}: remove it"
            )
        elif on.name and not is_event and set(self.verbs) <= _OF_COLLECTIONS:
            yield (
                f"expected no on.name, because {' and '.join(sorted(self.verbs))} name no object, "
                f"got {on.name!r}: remove it"
            )
        if on.subresource and not on.resource:
            yield (
                f"expected on.resource with on.subresource, got only {on.subresource!r}: "
                "add the resource"
            )

    def _call_objections(self, run: fault.Run) -> Iterator[str]:
        """Check that the role makes such calls, as far as they are known."""
        on, made, chosen = self.on, run.calls[self.on.role], frozenset(self.verbs)
        if made is None or on.selected(made, chosen):
            return
        resources = sorted({key.partition("/")[0] for key in made})
        if on.resource and on.resource not in resources:
            near = suggestions.did_you_mean(on.resource, resources)
            yield (
                f"expected on.resource to be one that {on.role} uses ({', '.join(resources)}), "
                f"got {on.resource!r}.{near}"
            )
            return
        its = {key: verbs for key, verbs in made.items() if key.partition("/")[0] == on.resource}
        known = [f"{verb} {key}" for key, verbs in (its or made).items() for verb in sorted(verbs)]
        yield (
            f"expected calls that {on.role} makes, got {' or '.join(sorted(chosen))} of "
            f"{on.resource_text or 'any resource'}, and it never does that: choose among "
            f"{', '.join(known)}"
        )

    # ---------------------------------------------------------------------------- words

    @property
    def warning(self) -> str:
        """A sentence about the verdict if the recorder is hit."""
        if self.on.role == "recorder":
            return " The recorder's evidence is not complete then, so that the verdict is UNKNOWN."
        return ""

    def what(self, clients: Sequence[str]) -> str:
        """Return which calls or events of these processes it hits, and its effect on them."""
        does = self.does.format(**self.words)
        return f"{self._amount}{self._target} of {' and '.join(clients)} {does}"

    @property
    def _amount(self) -> str:
        """Which of the matching calls are hit: `each 3rd (at most 20, after the first 5) `."""
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
            types = f"event {' or '.join(self.events)}"
            noun = "bookmark" if self.is_of_bookmarks else types if self.events else "watch event"
            return f"{noun} of {resource}"
        named = "call" if self.verbs == self.possible_verbs else " or ".join(self.verbs)
        return f"{named} of {resource}"


def _types(spec: TrafficFault) -> set[str]:
    return set(spec.events) or {"ADDED", "MODIFIED", "DELETED"}


def _ordinal(number: int) -> str:
    """Return `2nd`, `3rd`, `4th`, `11th`, `21st`, …"""
    endings = {1: "st", 2: "nd", 3: "rd"}
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else endings.get(number % 10, 'th')}"
