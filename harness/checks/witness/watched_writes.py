"""The writes of claims and pods as the recorder's watch delivered them, and from when to when."""

import dataclasses
from collections.abc import Iterable, Iterator

import msgspec

from harness.checks.witness import audit_events, object_states
from harness.history import records

_RESOURCES = frozenset(name for _, name in audit_events.RESOURCES)


class Seen(msgspec.Struct, frozen=True):
    """One observation."""

    type: str
    version: int
    """The resourceVersion of the record, which decides the order of holds."""
    state: object_states.State

    @property
    def is_deletion(self) -> bool:
        """True if the object was gone with this revision."""
        return self.type == "DELETED"


@dataclasses.dataclass(slots=True)
class Stream:
    """The observations of one resource."""

    first_rv: int | None = None
    """Revision of the first list; None: there is none."""
    final_rv: int | None = None
    """Revision of the final list; None: there is none."""
    gaps: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    """Revisions that a watch missed: after the first one, up to the second one."""
    listed: list[Seen] = dataclasses.field(default_factory=list)
    """The objects of the first list."""
    seen: dict[int, Seen] = dataclasses.field(default_factory=dict)
    """revision -> the observation; of two the first."""
    final: dict[str, Seen] = dataclasses.field(default_factory=dict)
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


class WatchedWrites:
    """The observations of all compared resources."""

    def __init__(self) -> None:
        self.streams = {name: Stream() for name in sorted(_RESOURCES)}

    def follow(self, observations: Iterable[records.Body]) -> Iterator[records.Body]:
        """Yield the records of the recorder, each after noting it.

        Raises msgspec.DecodeError for an object that is none of the API.
        """
        for record in observations:
            if isinstance(record, records.Observation):
                if record.resource in _RESOURCES:
                    self._observe(record)
            elif isinstance(record, records.Listed):
                if record.resource in _RESOURCES:
                    self._list(record)
            elif isinstance(record, records.Gap) and record.resource in _RESOURCES:
                self.streams[record.resource].gap_rv = record.after_resource_version
            yield record

    def _list(self, listed: records.Listed) -> None:
        stream = self.streams[listed.resource]
        match listed.purpose:
            case "first":
                stream.first_rv = listed.resource_version
            case "final":
                stream.final_rv = listed.resource_version
            case "relist" if stream.gap_rv is not None:
                stream.gaps.append((stream.gap_rv, listed.resource_version))
                stream.gap_rv = None

    def _observe(self, record: records.Observation) -> None:
        try:
            state = object_states.read(record.object)
        except object_states.ObjectError as error:
            raise msgspec.DecodeError(str(error)) from error
        stream = self.streams[record.resource]
        seen = Seen(record.type, record.resource_version, state)
        if record.type == "FINAL":
            stream.final[state.uid] = seen
        elif record.type == "LISTED" and record.resource_version <= (stream.first_rv or 0):
            stream.listed.append(seen)
        else:
            stream.seen.setdefault(record.resource_version, seen)
