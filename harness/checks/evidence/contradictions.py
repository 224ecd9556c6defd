"""Contradictions in the evidence of a run, and the states of objects that they put in doubt.

A doubt names an object (or every object of a resource) and a revision: the state of the object is
not certain from that revision on until its next undisputed observation. `certain_holds` uses the
doubts; the certificate uses the counts and the first contradiction of each item as text.
"""

import collections
import dataclasses

DOUBTS_MAX = 10_000
"""Doubts that are kept one by one; with more, everything after the first one is in doubt."""
EVERY = ""
"""Stands for every object of a resource, or for every resource."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """The state of an object is not certain from a revision on."""

    resource: str
    """Plural name; EVERY: objects of any resource."""
    uid: str
    """EVERY: any object of the resource."""
    from_rv: int
    """The first doubtful revision; observations at it are disputed. 0: the whole life."""


class Contradictions:
    """Counts contradictions by the item of the certificate whose answer they turn into no."""

    def __init__(self) -> None:
        self._counts: collections.Counter[str] = collections.Counter()
        self._first: dict[str, str] = {}
        self.doubts: list[Doubt] = []
        """No more than DOUBTS_MAX; see `end_rv`."""
        self.end_rv: int | None = None
        """There were too many doubts to list: everything from here on is in doubt. None: the list
        is complete."""

    @property
    def is_empty(self) -> bool:
        """True if nothing contradicts anything, and nothing is in doubt."""
        return not self._counts and not self.doubts

    def add(
        self,
        item: str,
        text: str,
        *,
        resource: str = EVERY,
        uid: str = EVERY,
        from_rv: int | None = None,
    ) -> None:
        """Count a contradiction, and doubt the object from the revision on; None: doubt nothing."""
        self._counts[item] += 1
        self._first.setdefault(item, text)
        if from_rv is not None:
            self.doubt(resource=resource, uid=uid, from_rv=from_rv)

    def doubt(self, *, resource: str = EVERY, uid: str = EVERY, from_rv: int) -> None:
        """Doubt an object without counting a contradiction."""
        if len(self.doubts) < DOUBTS_MAX:
            self.doubts.append(Doubt(resource=resource, uid=uid, from_rv=from_rv))
            return
        if self.end_rv is None:
            self.end_rv = min(item.from_rv for item in self.doubts)
        self.end_rv = min(self.end_rv, from_rv)

    def count(self, item: str) -> int:
        return self._counts[item]

    def answer(self, item: str) -> str:
        """Return the number of contradictions and the first as text; empty if there is none."""
        first = self._first.get(item, "")
        return first if self._counts[item] < 2 else f"{self._counts[item]:,}, first: {first}"
