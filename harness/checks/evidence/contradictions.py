"""Contradictions in the evidence of a run: how many there are, and the first of them as text."""

import collections

from harness.checks.observed import observations

OF_HOLDS = (observations.CLAIMS, observations.SLICES)
"""Resources whose objects say what is held, and what may be shared."""


class Contradictions:
    """Counts contradictions by the item of the certificate whose answer they turn into no."""

    def __init__(self) -> None:
        self._counts: collections.Counter[str] = collections.Counter()
        self._first: dict[str, str] = {}
        self.are_holds_in_doubt = False
        """True if holds may have been folded from something that was not so."""

    def add(self, item: str, text: str, *, doubts_holds: bool = True) -> None:
        """Count a contradiction. One of a pod doubts no hold, nor does a loss in a gap of claims.

        Holds end where such a gap begins.
        """
        self._counts[item] += 1
        self._first.setdefault(item, text)
        self.are_holds_in_doubt |= doubts_holds

    def count(self, item: str) -> int:
        return self._counts[item]

    def answer(self, item: str) -> str:
        """Return the number of contradictions and the first as text; empty if there is none."""
        first = self._first.get(item, "")
        return first if self._counts[item] < 2 else f"{self._counts[item]:,}, first: {first}"


def title(seen: observations.SeenAny) -> str:
    """Return the object for messages: `pods tests/p`."""
    meta = seen.object.metadata
    space = f"{meta.namespace}/" if meta.namespace else ""
    return f"{seen.resource} {space}{meta.name}"


def titled(seen: observations.SeenAny) -> str:
    """Return the version of an object for messages: `pods tests/p at 3`."""
    return f"{title(seen)} at {seen.version}"
