"""One scheduling attempt of a pod: its state, and how it can end.

The state is `stateData` in the CycleState of
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.allocation import allocators, refusal_memory, results
from harness.subject.extended_resources import class_resolver
from harness.subject.objects import nodes

DYNAMIC_RESOURCES = "DynamicResources"
"""kube-scheduler's name of the plugin."""
NOT_ALLOCATABLE = "cannot allocate all claims"
"""Reason for which a node is ruled out; kube-scheduler's words."""
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
"""The answers of a preemption that is not possible; kube-scheduler's words."""


class Unschedulable(Exception):  # noqa: N818 - an answer, not an error
    """The pod cannot be scheduled now; the message gives the reason."""

    def __init__(self, reason: str, rejectors: Iterable[str] = (DYNAMIC_RESOURCES,)) -> None:
        """`rejectors`: the plugins that rejected the pod; none: any event may help it."""
        super().__init__(reason)
        self.rejectors = frozenset(rejectors)


class AttemptError(Exception):
    """This attempt failed; the pod is retried after a backoff, without waiting for an event."""


class BindingError(Exception):
    """The pod cannot be bound in this attempt; it is retried."""


class ClaimInUseError(BindingError):
    """A claim is reserved for as many pods as it can be; the pod waits until that changes."""


@dataclasses.dataclass(slots=True)
class Attempt:
    """The state of one scheduling attempt."""

    pod: Object
    claims: list[Object]
    """The pod's claims from the assume cache; PreBind replaces them with what it wrote."""
    users: list[Object] = dataclasses.field(default_factory=list)
    """The pod or its PodGroup for each of the claims: that for which it is reserved."""
    to_allocate: list[int] = dataclasses.field(default_factory=list)
    """Indexes of the claims that have no allocation."""
    allocator: allocators.Allocator | None = None
    """None: no claim needs an allocation."""
    planned: dict[int, Object] = dataclasses.field(default_factory=dict)
    """Planned allocations on the chosen node, by index of the claim."""
    node_name: str = ""
    """The chosen node; empty before Reserve."""
    given_up: set[int] = dataclasses.field(default_factory=set)
    """Indexes of allocated claims whose devices were not made ready."""
    unavailable: set[int] = dataclasses.field(default_factory=set)
    """Indexes of claims whose existing allocation ruled out some node."""
    demand: class_resolver.Demand = dataclasses.field(default_factory=class_resolver.Demand)
    """The extended resources that the pod asks for."""
    left_over: Object | None = None
    """A claim for extended resources that an earlier attempt left; it rules out every node."""
    mappings: list[Object] = dataclasses.field(default_factory=list)
    """The `requestMappings` of the claim for extended resources, which is the last of `claims`."""
    refusals: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """Number of nodes that were ruled out, by reason."""
    refused: refusal_memory.Refused | None = None
    """The nodes that cannot satisfy the claims, as is known; None: it is not remembered."""
    is_stopped: bool = False
    """No further node has to be filtered."""
    _guard: concurrency.Lock = dataclasses.field(
        default_factory=lambda: concurrency.lock("attempt"), repr=False
    )
    """Protects what several Filter threads change."""

    @property
    def name(self) -> str:
        return informers.key_of(self.pod)

    def user_of(self, index: int) -> Object:
        """Return the pod, or the PodGroup, for which the claim of this index is reserved."""
        return self.users[index] if index < len(self.users) else self.pod

    def refuse(self, reason: str, unavailable: Collection[int] = ()) -> None:
        """Count a node that was ruled out; `unavailable`: the claims that did so, by index."""
        with self._guard:
            self.refusals[reason] += 1
            self.unavailable.update(unavailable)

    def refuse_devices(self, node: Object) -> None:
        self.refuse(NOT_ALLOCATABLE)
        if self.refused is not None:
            self.refused[node["metadata"]["name"]] = node

    def needs_only_devices(self) -> bool:
        """Return whether free devices alone decide, for the plugin, where the pod can run."""
        return len(self.to_allocate) == len(self.claims) and not self.demand.amounts

    def prioritized(self) -> Iterator[Object]:
        for index in self.to_allocate:
            listed = (self.claims[index]["spec"].get("devices") or {}).get("requests") or ()
            yield from (item for item in listed if item.get("firstAvailable"))

    def preference(self, allocations: Sequence[Object]) -> int:
        """Return how much better alternatives were chosen in planned allocations."""
        wanted = [self.claims[index] for index in self.to_allocate]
        return results.preference(wanted, allocations[: len(wanted)])

    def rejectors(self) -> set[str]:
        return {nodes.PLUGINS.get(reason, DYNAMIC_RESOURCES) for reason in self.refusals}

    def explanation(self, freed: str = "") -> str:
        """Return why no node fits, in kube-scheduler's words; `freed`: PostFilter's, if it ran."""
        if not self.refusals:
            return "no nodes available to schedule pods"
        text = f"0/{self.refusals.total()} nodes are available: {_counted(self.refusals)}."
        if not freed:
            return text
        helped: collections.Counter[str] = collections.Counter()
        for reason, count in self.refusals.items():
            is_about_room = reason.startswith(class_resolver.INSUFFICIENT)
            helped[NO_VICTIMS if is_about_room else NOT_HELPFUL] += count
        return f"{text} {freed}, {preemption(helped)}"


def preemption(answers: Mapping[str, int]) -> str:
    """Return what kube-scheduler says of a preemption that is not possible.

    `answers`: number of nodes by NO_VICTIMS or NOT_HELPFUL. This scheduler preempts no pod.
    """
    total = sum(answers.values())
    return f"preemption: 0/{total} nodes are available: {_counted(answers)}."


def _counted(reasons: Mapping[str, int]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
