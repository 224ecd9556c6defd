"""The filters of an address, and the page of the runs that they leave."""

import collections
import dataclasses
import math
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from harness.report import escaping
from harness.serving import listings

T = TypeVar("T")
PAGE_ROWS = 100
"""Rows of one page of a list."""
EXPECTED = {"yes": "as expected", "no": "not as expected", "none": "without a verdict"}
_VALUES: Mapping[str, Callable[[listings.Run], str]] = {
    "verdict": lambda run: escaping.visible(run.row.verdict),
    "subject": lambda run: escaping.visible(run.row.subject),
    "scenario": lambda run: escaping.visible(run.row.scenario),
    "purpose": lambda run: run.row.purpose,
    "campaign": lambda run: escaping.visible(run.campaign),
}
"""Key of an address -> the value that a run must have, as pages show it."""
_WORDS = {True: "yes", False: "no", None: "none"}


@dataclasses.dataclass(frozen=True, slots=True)
class Filters:
    """The values that the runs of a list have in common; an empty one means all."""

    verdict: str = ""
    expected: str = ""
    subject: str = ""
    scenario: str = ""
    purpose: str = ""
    campaign: str = ""
    text: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filters":
        """Return the filters of the parameters of an address or a form."""
        return cls(**{name: query.get(name, "") for name in cls.__slots__})

    def chosen(self, runs: Iterable[listings.Run]) -> list[listings.Run]:
        """Return the runs that all filters leave."""
        wanted = [(read, value) for name, read in _VALUES.items() if (value := self.get(name))]
        text = self.text.lower()
        return [
            run
            for run in runs
            if all(read(run) == value for read, value in wanted)
            and (not self.expected or _WORDS[run.is_expected] == self.expected)
            and (not text or text in run.words)
        ]

    def get(self, name: str) -> str:
        """Return the value of a filter."""
        return str(getattr(self, name))

    def given(self) -> dict[str, str]:
        """Return the filters that are set, as the parameters of an address."""
        return {name: self.get(name) for name in self.__slots__ if self.get(name)}


@dataclasses.dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list."""

    items: Sequence[T]
    number: int
    """From 1."""
    pages: int
    first: int
    """Number of its first item, from 1; 0: there is none."""
    count: int
    """Number of all items."""


def page(items: Sequence[T], number: str) -> Page[T]:
    """Return the page with a number that an address names; the nearest one if there is no such."""
    pages = max(math.ceil(len(items) / PAGE_ROWS), 1)
    is_number = number.isascii() and number.isdigit() and len(number) < 9
    chosen = min(max(int(number) if is_number else 1, 1), pages)
    begun = (chosen - 1) * PAGE_ROWS
    first = begun + 1 if items else 0
    return Page(items[begun : begun + PAGE_ROWS], chosen, pages, first, len(items))


def values(runs: Sequence[listings.Run], name: str) -> list[tuple[str, int]]:
    """Return the values that runs have for a filter, each with the number of runs."""
    counts = collections.Counter(map(_VALUES[name], runs))
    return sorted(item for item in counts.items() if item[0])


def query(parameters: Mapping[str, object], **more: object) -> str:
    """Return parameters as the end of an address; empty ones are left out."""
    kept = {name: str(value) for name, value in {**parameters, **more}.items() if value}
    return f"?{urllib.parse.urlencode(kept, errors='replace')}" if kept else "?"
