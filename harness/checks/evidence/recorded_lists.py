"""Do the recorded lists of a resource fit what surrounds them?

A recorder writes one first list, then events, a list after each gap, and one final list, after
which nothing follows. A list counts its objects, and no object in it is newer than the list. No
list is older than an event before it.
"""

import operator

from harness.checks.evidence import contradictions
from harness.checks.observed import folders, observations
from harness.history import records

FIT, ORDER = "lists", "order"
"""The items of the certificate that this module answers."""
_PURPOSES = {"first": "LISTED", "relist": "LISTED", "final": "FINAL"}
_LISTED = frozenset(_PURPOSES.values())


class RecordedLists:
    """The lists of one resource, in the order of the journal."""

    def __init__(self, resource: str, found: contradictions.Contradictions) -> None:
        self._resource, self._found = resource, found
        self._list: records.Listed | None = None
        """The list that was recorded last."""
        self._left = 0
        """Number of its objects still to come; negative: there were too many."""
        self._last_rv = 0
        """The newest version in an event or list."""
        self._gap_rv: int | None = None
        """The last certain version before a gap after which no list was recorded."""
        self._gaps: list[tuple[int, int]] = []
        """Versions before and of the list after each gap."""
        self._takes_events = False
        """True if events may follow; only their order is still to be looked at."""
        self.first_rv: int | None = None
        self.final_rv: int | None = None
        """Versions of the first and of the final list; None: there is none."""
        self.count = 0
        """Number of lists."""

    @property
    def certain_rv(self) -> int:
        """The version up to which the watch has delivered everything."""
        return self._last_rv if self._gap_rv is None else self._gap_rv

    def is_in_gap(self, version: int) -> bool:
        """Return whether a gap may have hidden a commit of this version."""
        is_open = self._gap_rv is not None and version > self._gap_rv
        return is_open or any(after < version <= until for after, until in self._gaps)

    def begin(self, listed: records.Listed) -> None:
        self._takes_events = False
        self.require_whole()
        self._require_place(listed)
        if listed.resource_version < self._last_rv:
            self._complain(
                f"the {listed.purpose} list at {listed.resource_version} is older than "
                f"version {self._last_rv} before it"
            )
        self._list, self._left = listed, listed.count
        self.count += 1
        if self._gap_rv is not None:
            self._gaps.append((self._gap_rv, listed.resource_version))
            self._gap_rv = None
        if listed.purpose == "final":
            self.final_rv = listed.resource_version
        elif listed.purpose == "first" and self.first_rv is None:
            self.first_rv = listed.resource_version
        self._last_rv = max(self._last_rv, listed.resource_version)

    def gap(self, gap: records.Gap) -> None:
        """Follow a gap: a list has to come next."""
        self._takes_events = False
        if gap.after_resource_version < self._last_rv:
            self._complain(
                f"the gap after {gap.after_resource_version} comes after version {self._last_rv}"
            )
        self._gap_rv = gap.after_resource_version

    def observe_all(self, batch: folders.Batch) -> None:
        versions = [self._last_rv, *batch.versions]
        are_events = _LISTED.isdisjoint(batch.types)
        if self._takes_events and are_events and all(map(operator.lt, versions, versions[1:])):
            self._last_rv = versions[-1]  # as mostly
            return
        for seen in batch.seen:
            self.observe(seen)

    def observe(self, seen: observations.SeenAny) -> None:
        version = seen.version
        if seen.type in _LISTED:
            self._observe_listed(seen)
            return
        if not self._takes_events:
            self._begin_events(seen)
        if version > self._last_rv:
            self._last_rv = version
        else:
            text = f"{contradictions.titled(seen)} came after {self._last_rv}"
            self._found.add(ORDER, text, doubts_holds=self._resource in contradictions.OF_HOLDS)

    def _observe_listed(self, seen: observations.SeenAny) -> None:
        self._takes_events = False
        self._left -= 1
        if self._list is None or _PURPOSES[self._list.purpose] != seen.type:
            self._complain(f"{contradictions.titled(seen)} is {seen.type}, but in no such list")
        elif seen.version > self._list.resource_version:
            self._complain(
                f"{contradictions.titled(seen)} is in a list of version {self._list.resource_version}"
            )

    def _begin_events(self, seen: observations.SeenAny) -> None:
        self.require_whole()
        if self._list is None:
            if not self._last_rv:  # once; the events themselves are not in doubt
                text = f"{contradictions.titled(seen)} came before the first list"
                self._complain(text, doubts_holds=False)
        elif self._list.purpose == "final":
            self._complain(f"{contradictions.titled(seen)} came after the final list")
        elif self._gap_rv is not None:
            self._complain(f"{contradictions.titled(seen)} came in a gap, before the list after it")
        else:
            self._takes_events = True

    def _require_place(self, listed: records.Listed) -> None:
        """Complain about a second first list, a list without a gap, a list after the final one."""
        if self._list is not None and self._list.purpose == "final":
            self._complain(f"a {listed.purpose} list came after the final one")
        elif listed.purpose == "first" and self._list is not None:
            self._complain("there are two first lists")
        elif listed.purpose == "relist" and self._gap_rv is None:
            self._complain(f"the list at {listed.resource_version} follows no gap")

    def require_whole(self) -> None:
        """Complain once if the last list has not as many objects as it says."""
        if self._list is not None and self._left:
            count = self._list.count
            self._complain(
                f"the {self._list.purpose} list at {self._list.resource_version} says {count} "
                f"objects, but {count - self._left} follow"
            )
            self._left = 0

    def _complain(self, text: str, *, doubts_holds: bool = True) -> None:
        is_of_holds = self._resource in contradictions.OF_HOLDS and doubts_holds
        self._found.add(FIT, f"{self._resource}: {text}", doubts_holds=is_of_holds)
