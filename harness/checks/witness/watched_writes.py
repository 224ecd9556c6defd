"""The writes of claims and pods as the recorder's watch delivered them, and from when to when."""

from collections.abc import Mapping

import msgspec

from harness.checks.observed import folders, observations
from harness.checks.witness import object_states
from harness.history import records

_RESOURCES = frozenset(name for _, name in object_states.RESOURCES)


class Seen(msgspec.Struct, frozen=True):
    """One observation."""

    type: str
    version: int
    """The resourceVersion of the record, which decides the order of holds."""
    state: object_states.State
    ts_ns: int = 0
    """Monotonic time of the record."""

    @property
    def is_deletion(self) -> bool:
        """True if the object was gone with this revision."""
        return self.type == "DELETED"


class Stream(msgspec.Struct):
    """The observations of one resource."""

    first_rv: int | None = None
    """Revision of the first list; None: there is none."""
    final_rv: int | None = None
    """Revision of the final list; None: there is none."""
    gaps: list[tuple[int, int]] = []
    """Revisions that a watch missed: after the first one, up to the second one."""
    listed: list[Seen] = []
    """The objects of the first list."""
    seen: dict[int, Seen] = {}
    """revision -> the observation; of two the first."""
    final: dict[str, Seen] = {}
    """uid -> the object in the final list."""
    gap_rv: int | None = None
    """The last revision before a gap that no list has ended yet."""

    def covers(self, version: int) -> bool:
        """Return whether the recorder must have seen a write of this revision."""
        if self.first_rv is None or self.final_rv is None:
            return False
        if not self.first_rv < version <= self.final_rv:
            return False
        return not any(after < version <= until for after, until in self.gaps)


class WatchedWrites(folders.Folder):
    """The observations of all compared resources."""

    def __init__(self, told: Mapping[str, Mapping[int, object_states.Write]] | None = None) -> None:
        """`told` are the writes in the audit log, by resource and revision.

        An observation that is the same byte for byte is not decoded again.
        """
        self._told = told or {}
        self.streams = {name: Stream() for name in sorted(_RESOURCES)}

    def see_any(self, seen: observations.SeenAny) -> None:
        stream = self.streams.get(seen.resource)
        if stream is None:
            return
        noted = self._noted(seen)
        if seen.type == "LISTED" and seen.version <= (stream.first_rv or 0):
            stream.listed.append(noted)
        else:
            stream.seen.setdefault(seen.version, noted)

    def see_final(self, seen: observations.SeenAny) -> None:
        if seen.resource in self.streams:
            noted = self._noted(seen)
            self.streams[seen.resource].final[noted.state.uid] = noted

    def see_gap(self, gap: records.Gap) -> None:
        if gap.resource in self.streams:
            self.streams[gap.resource].gap_rv = gap.after_resource_version

    def see_list(self, listed: records.Listed) -> None:
        stream, version = self.streams.get(listed.resource), listed.resource_version
        if stream is None:
            return
        if listed.purpose == "first":
            stream.first_rv = version
        elif listed.purpose == "final":
            stream.final_rv = version
        elif stream.gap_rv is not None:
            stream.gaps.append((stream.gap_rv, version))
            stream.gap_rv = None

    def _noted(self, seen: observations.SeenAny) -> Seen:
        told = self._told.get(seen.resource, {}).get(seen.version)
        is_same = told is not None and told.content == object_states.digest(seen.content)
        state = told.state if told and is_same else object_states.read(seen.content)
        return Seen(seen.type, seen.version, state, seen.ts_ns)
