"""How complete the observations of a resource are, and the lives of its objects."""

import dataclasses
from collections.abc import Mapping

from harness.checks.observed import claim_results
from harness.history import records

NOTHING: Mapping[str, claim_results.Held] = {}
"""The devices of a claim that holds none."""


@dataclasses.dataclass(slots=True)
class Life:
    """Milestones of one object in the recorder's time; for figures, never for verdicts."""

    name: str
    seen_ns: int
    ready_ns: int | None = None
    """First allocation of a claim, first `Running` of a pod; None: never."""
    gone_ns: int | None = None
    namespace: str = ""
    number: int = 0
    """Number of objects of its resource that were seen before it."""
    users: str | tuple[str, ...] = ()
    """Pods of an allocated claim at that version; see `hold_columns.Pods`."""
    held: Mapping[str, claim_results.Held] = dataclasses.field(default_factory=lambda: NOTHING)
    """Claim -> device -> how it holds it now; claims with equal allocations share the inner
    mapping."""
    rows: dict[str, int] | None = None
    """Claim that has held devices -> device -> row of the open hold; None when it is gone."""

    @property
    def waited_ns(self) -> int | None:
        """Nanoseconds until ready; None if never ready or if the clock went back."""
        if self.ready_ns is None or self.ready_ns < self.seen_ns:
            return None
        return self.ready_ns - self.seen_ns


@dataclasses.dataclass(slots=True)
class ObservedStream:
    """Completeness of the observations of one resource."""

    has_first_list: bool = False
    has_final_list: bool = False
    observed: int = 0
    """Number of observations, without the final list."""
    last_rv: int = 0
    gaps: list[records.Gap] = dataclasses.field(default_factory=list)
    disordered: list[int] = dataclasses.field(default_factory=list)
    """resourceVersions that arrived after a later one."""
    live: dict[str, int] = dataclasses.field(default_factory=dict)
    """uid -> resourceVersion of every live object, according to the events."""
    final: dict[str, int] = dataclasses.field(default_factory=dict)
    """uid -> resourceVersion of every live object, according to the final list."""

    def note(self, uid: str, version: int, kind: str) -> None:
        """Note an observation of this type, other than FINAL."""
        self.observed += 1
        if kind != "LISTED":
            if version <= self.last_rv:
                self.disordered.append(version)
            self.last_rv = version
        if kind == "DELETED":
            self.live.pop(uid, None)
        else:
            self.live[uid] = version


@dataclasses.dataclass(slots=True)
class Relist:
    """A list after a gap that is still being read."""

    left: int
    """Number of objects still to come."""
    certain_rv: int
    """The last resourceVersion before the gap."""
    seen: set[str] = dataclasses.field(default_factory=set)
