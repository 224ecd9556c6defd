"""An oracle in numpy: pairs of holds that no correct scheduler makes, counted without listing them.

Two holds conflict if they overlap, are of one device and different claims, and at least one of them
is not a share. One device in n claims makes n²/2 pairs, so that only those that are shown are made.
"""

import dataclasses
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Pair: TypeAlias = tuple[int, int]
"""Two row numbers; the hold that began first comes first."""


class NumpyConflicts:
    """The conflicting pairs among holds, as row numbers of their arrays.

    Pairs are ordered by the begin of the later hold, then by the rows of the first and the second.
    """

    def __init__(
        self, device: Integers, owner: Integers, start: Integers, end: Integers, share: Flags
    ) -> None:
        """Search holds: one element of each array for each; empty ones conflict with nothing."""
        rows = np.flatnonzero(end > start)
        rows = rows[np.lexsort((start[rows], device[rows]))]
        self._rows = rows
        self._device, self._owner = device[rows].astype(np.int64), owner[rows].astype(np.int64)
        self._start, self._end = start[rows], end[rows]
        self._share = share[rows]
        self._counts = self._count()
        self.by_second = np.zeros(len(device), dtype=np.int64)
        """For each row: the number of holds that began before it and conflict with it."""
        self.by_second[rows] = self._counts

    @property
    def total(self) -> int:
        """The number of pairs."""
        return int(self._counts.sum())

    @property
    def devices(self) -> int:
        """The number of devices with a pair."""
        return len(np.unique(self._device[self._counts > 0]))

    def first(self, most: int, seconds: Flags | None = None) -> list[Pair]:
        """Return the first pairs; only those whose later hold is flagged in `seconds`."""
        chosen = self._counts > 0
        if seconds is not None:
            chosen &= seconds[self._rows]
        places = np.flatnonzero(chosen)
        places = places[np.argsort(self._start[places], kind="stable")]
        enough = int(np.searchsorted(np.cumsum(self._counts[places]), most)) + 1
        if enough < len(places):
            # Holds that begin together are ordered by their partners.
            enough = int(
                np.searchsorted(self._start[places], self._start[places[enough - 1]], "right")
            )
        return self._pairs(places[:enough])[:most]

    def longest(self) -> Pair | None:
        """Return the first of the pairs that overlap longest; None: there is no pair."""
        places = np.flatnonzero(self._counts)
        if not len(places):
            return None
        ends = np.minimum(self._latest_ends()[places], self._end[places])
        lengths = ends - self._start[places]
        longest = places[lengths == lengths.max()]
        longest = longest[self._start[longest] == self._start[longest].min()]
        pairs = self._listed(longest)
        return next((one, two) for _, one, two, length in pairs if length == lengths.max())

    def last(self) -> Pair | None:
        """Return the last pair; None: there is no pair."""
        places = np.flatnonzero(self._counts)
        if not len(places):
            return None
        starts = self._start[places]
        return self._pairs(places[starts == starts.max()])[-1]

    # ------------------------------------------------------------------------ counting

    def _count(self) -> Integers:
        """Return for each hold the number of earlier ones that it conflicts with."""
        if self._are_apart():
            return np.zeros(len(self._rows), dtype=np.int64)
        counts = self._overlapping(self._device)
        if counts.any():
            counts = counts - self._overlapping(self._device, self._owner)
        if self._share.any() and counts.any():
            shares = np.flatnonzero(self._share)
            counts[shares] -= self._overlapping(self._device, among=shares)
            counts[shares] += self._overlapping(self._device, self._owner, among=shares)
        return counts

    def _are_apart(self) -> bool:
        """Return whether no hold begins before the one before it, of the same device, has ended.

        Then none overlap at all, and most runs need no more sorting than this.
        """
        is_same = self._device[1:] == self._device[:-1]
        return not bool((is_same & (self._start[1:] < self._end[:-1])).any())

    def _overlapping(self, *keys: Integers, among: Integers | None = None) -> Integers:
        """Return for each hold how many earlier ones of equal keys overlap with it."""
        among = np.arange(len(self._rows)) if among is None else among
        group = _numbered([key[among] for key in keys])
        order = np.lexsort((among, self._start[among], group))
        start, end = _shifted(group[order], self._start[among][order], self._end[among][order])
        found = np.empty(len(among), dtype=np.int64)
        found[order] = np.arange(len(among)) - np.searchsorted(np.sort(end), start, "right")
        return found

    # ------------------------------------------------------------------------- listing

    def _pairs(self, places: Iterable[int]) -> list[Pair]:
        """Return all pairs with these later holds, in order."""
        return [(first, second) for _, first, second, _ in self._listed(places)]

    def _listed(self, places: Iterable[int]) -> list[tuple[int, int, int, int]]:
        """Return these pairs with their first version before, and their length behind them."""
        found = []
        for place in places:
            begin, until, row = self._start[place], self._end[place], self._rows[place]
            for other in self._partners(place):
                length = min(until, self._end[other]) - begin
                found.append((int(begin), int(self._rows[other]), int(row), int(length)))
        return sorted(found)

    def _partners(self, place: int) -> Integers:
        """Return the places of the earlier holds that conflict with one."""
        begin = int(np.searchsorted(self._device, self._device[place]))
        before = slice(begin, place)
        meets = (self._end[before] > self._start[place]) & (
            self._owner[before] != self._owner[place]
        )
        if self._share[place]:
            meets &= ~self._share[before]
        return np.flatnonzero(meets) + begin

    def _latest_ends(self) -> Integers:
        """Return for each hold the latest end of the earlier ones that it may conflict with.

        Only for holds of devices that have conflicts; otherwise 0.
        """
        found = np.zeros(len(self._rows), dtype=np.int64)
        doubled = np.isin(self._device, self._device[self._counts > 0])
        device = -1
        for place in np.flatnonzero(doubled).tolist():
            if self._device[place] != device:
                device, anyone, alone = int(self._device[place]), _Latest(), _Latest()
            owner, end = int(self._owner[place]), int(self._end[place])
            share = bool(self._share[place])
            found[place] = (alone if share else anyone).of_others(owner)
            anyone.add(owner, end)
            if not share:
                alone.add(owner, end)
        return found


@dataclasses.dataclass(slots=True)
class _Latest:
    """The latest end of the holds so far, and the latest one of any other claim."""

    owner: int = -1
    end: int = -1
    other_end: int = -1

    def add(self, owner: int, end: int) -> None:
        if owner == self.owner:
            self.end = max(self.end, end)
        elif end > self.end:
            self.owner, self.end, self.other_end = owner, end, self.end
        else:
            self.other_end = max(self.other_end, end)

    def of_others(self, owner: int) -> int:
        return self.other_end if owner == self.owner else self.end


def _numbered(keys: list[Integers]) -> Integers:
    """Return one small number for each combination of keys."""
    if len(keys) == 1:
        return keys[0]
    first, second = keys
    combined = first * (int(second.max(initial=0)) + 1) + second
    numbers: Integers = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return numbers


def _shifted(group: Integers, start: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Shift the intervals of each group to a range of their own, so that groups do not overlap.

    Times are replaced by their ranks if they would not fit into 63 bits.
    """
    if not len(group):
        return start, end
    origin, span = start.min(), int(end.max()) - int(start.min())
    if span * (int(group.max()) + 1) >= 2**63:
        times = np.unique(np.concatenate([start, end]))
        start, end = np.searchsorted(times, start), np.searchsorted(times, end)
        origin, span = start.min(), len(times)
    offset = group * span
    return offset + (start - origin), offset + (end - origin)
