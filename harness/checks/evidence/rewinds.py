"""Revisions that go back: the API server's data were restored, and a second history began.

Both histories have the same revisions, so nothing may be put in order across them. A list shows
it that is older than what was observed before, or that has a claim in a version that was not seen,
although the watch had delivered all up to a later one.
"""

import dataclasses
from collections.abc import Iterable, Iterator

import msgspec

from harness.checks.observed import observations
from harness.history import records


@dataclasses.dataclass(slots=True)
class _List:
    """A list of claims after a gap, until its last object."""

    body: list[records.Body]
    left: int
    certain_rv: int
    """The watch has delivered everything up to here."""


class _Watcher:
    """The newest versions so far."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}
        self._known: dict[str, int] = {}
        """uid of a claim -> its newest version."""
        self._gap_rv: int | None = None
        self.list: _List | None = None

    def goes_back(self, record: records.Body) -> bool:
        """Follow a record; return whether it shows that the revisions have gone back."""
        match record:
            case records.Listed() if record.purpose != "final":
                return self._begin_list(record)
            case records.Gap(resource=observations.CLAIMS):
                self._gap_rv = record.after_resource_version
            case records.Observation() if record.type != "FINAL":
                return self._observe(record)
        return False

    def _begin_list(self, listed: records.Listed) -> bool:
        newest = self._newest.get(listed.resource, 0)
        if listed.purpose == "relist" and listed.resource == observations.CLAIMS:
            certain = newest if self._gap_rv is None else self._gap_rv
            self.list, self._gap_rv = _List([], listed.count, certain), None
        self._newest[listed.resource] = max(newest, listed.resource_version)
        return listed.resource_version < newest

    def _observe(self, seen: records.Observation) -> bool:
        resource, version = seen.resource, seen.resource_version
        if resource == observations.CLAIMS:
            uid = observations.decode(seen).object.metadata.uid
            known = self._known.get(uid, 0)
            self._known[uid] = max(known, version)
            if seen.type == "LISTED" and self.list is not None:
                self.list.left -= 1
                return known < version <= self.list.certain_rv
        self._newest[resource] = max(self._newest.get(resource, 0), version)
        return False


def before(body: Iterable[records.Body]) -> Iterator[records.Body]:
    """Yield the records before the revisions go back, without the list that shows it."""
    watcher = _Watcher()
    for record in body:
        if watcher.goes_back(record):
            return
        if watcher.list is None:
            yield record
            continue
        watcher.list.body.append(record)
        if watcher.list.left <= 0:
            yield from watcher.list.body
            watcher.list = None
    if watcher.list is not None:
        yield from watcher.list.body


def numbered(body: Iterable[records.Body]) -> Iterator[records.Body]:
    """Yield the records about claims with their places in the journal in place of revisions."""
    for place, record in enumerate(body, start=1):
        match record:
            case records.Observation(resource=observations.CLAIMS):
                yield msgspec.structs.replace(record, resource_version=place)
            case records.Listed(resource=observations.CLAIMS):
                yield msgspec.structs.replace(record, resource_version=place)
            case records.Gap(resource=observations.CLAIMS):
                yield msgspec.structs.replace(record, after_resource_version=place)
