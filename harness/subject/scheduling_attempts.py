"""One scheduling attempt of a pod: its state, and how it can end.

The state is `stateData` in the CycleState of
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

import collections
import dataclasses
from typing import Any

from harness.client import informers
from harness.subject.allocation import allocators

Object = dict[str, Any]


class Unschedulable(Exception):  # noqa: N818 - an answer, not an error
    """The pod cannot be scheduled now; the message gives the reason."""


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
    to_allocate: list[int] = dataclasses.field(default_factory=list)
    """Indexes of the claims that have no allocation."""
    allocator: allocators.Allocator | None = None
    """None: no claim needs an allocation."""
    planned: dict[int, Object] = dataclasses.field(default_factory=dict)
    """Planned allocations on the chosen node, by index of the claim."""
    unavailable: set[int] = dataclasses.field(default_factory=set)
    """Indexes of claims whose existing allocation ruled out some node."""
    refusals: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """Number of nodes that were ruled out, by reason."""

    @property
    def name(self) -> str:
        """`namespace/name` of the pod."""
        return informers.key_of(self.pod)

    def explanation(self) -> str:
        """Return why no node fits, in kube-scheduler's words."""
        if not self.refusals:
            return "no nodes available to schedule pods"
        counted = sorted(f"{count} {reason}" for reason, count in self.refusals.items())
        return f"0/{self.refusals.total()} nodes are available: {', '.join(counted)}."
