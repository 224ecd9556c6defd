"""The results of a search so far."""

import dataclasses
import math

_BITS = 1 << 26


class Distinct:
    """Number of distinct hashes added, by linear counting (Whang et al., TODS 1990).

    Each hash sets one of 2²⁶ bits (8 MiB); the count follows from how many are still clear. It is
    exact to one or two up to some ten thousand states, and to about 0.1 % at tens of millions.
    """

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)
        self._set = self._added = 0

    def add(self, state: int) -> None:
        self._added += 1
        place = state % _BITS
        mask = 1 << (place & 7)
        if not self._bits[place >> 3] & mask:
            self._bits[place >> 3] |= mask
            self._set += 1

    def __len__(self) -> int:
        clear = max(_BITS - self._set, 1)
        return min(round(-_BITS * math.log(clear / _BITS)), self._added)


FINDINGS_KEPT = 100
"""Maximum number of findings kept; further ones are only counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The part of a run's result that is sent between processes."""

    decisions: list[int]
    finding: str | None
    state: int
    was_given_up: bool


@dataclasses.dataclass(slots=True)
class SearchProgress:
    """Totals of the exploration so far."""

    schedules: int = 0
    given_up: int = 0
    """Number of schedules abandoned where all that could follow had been tried before."""
    distinct: Distinct = dataclasses.field(default_factory=Distinct)
    """Interleavings that differ in more than the order of independent steps."""
    findings: list[tuple[str, list[int]]] = dataclasses.field(default_factory=list)
    """Descriptions of findings, with the decisions that lead to them."""
    finding_count: int = 0
    is_complete: bool = False
    """True if every run was made."""
    left: float | None = None
    """Share of a whole search that is left, if all options were alike; None: another search."""

    @property
    def distinct_count(self) -> int:
        """Number of distinct interleavings."""
        return len(self.distinct)

    @property
    def schedules_left(self) -> int | None:
        """Least number of schedules that are left, by what is known now; None: unknown.

        It grows while races are found that ask for more.
        """
        if self.left is None or not 0 <= self.left < 1:
            return None
        return round(self.schedules * self.left / (1 - self.left))

    def add(self, outcome: Outcome) -> None:
        self.schedules += 1
        if outcome.was_given_up:
            self.given_up += 1
        else:
            self.distinct.add(outcome.state)
        if outcome.finding is not None:
            self.finding_count += 1
            if len(self.findings) < FINDINGS_KEPT:
                self.findings.append((outcome.finding, outcome.decisions))
