"""Finds the times at which the sum of several uses is more than there is."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from harness.checks.holds import hold_history


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """An amount that is used from one resourceVersion to another."""

    holds: tuple[hold_history.Hold, ...]
    """The holds behind it, the earliest first."""
    amount: Fraction
    from_rv: int
    until_rv: int | None
    """Exclusive; None: to the end of the history."""


@dataclasses.dataclass(frozen=True, slots=True)
class Excess:
    """A time in which more was used than there is."""

    from_rv: int
    until_rv: int | None
    """Exclusive; None: to the end of the history."""
    most: Fraction
    """Largest sum in that time."""
    limit: Fraction
    holds: tuple[hold_history.Hold, ...]
    """The holds behind that sum, the earliest first."""


def find(uses: Iterable[Use], limit: Callable[[int], Fraction | None]) -> Iterator[Excess]:
    """Yield each time in which the sum of the uses is above the limit, in order.

    Uses that begin or end at one version do so at once.

    `limit` returns how much there is at a resourceVersion, which never becomes less; None: that is
    not known.
    """
    current: dict[int, Use] = {}
    excess: Excess | None = None
    events = sorted(_events(uses), key=lambda event: event[:2])
    for rv, at_once in itertools.groupby(events, key=lambda event: event[0]):
        for _, number, use in at_once:
            if use.from_rv == rv:
                current[number] = use
            else:
                del current[number]
        total, there = sum((use.amount for use in current.values()), Fraction(0)), limit(rv)
        if there is None or total <= there:
            if excess is not None:
                yield dataclasses.replace(excess, until_rv=rv)
            excess = None
        elif excess is None or total > excess.most:
            since = rv if excess is None else excess.from_rv
            excess = Excess(since, None, total, there, tuple(_at(current.values(), rv)))
    if excess is not None:
        yield excess


def _at(uses: Iterable[Use], rv: int) -> list[hold_history.Hold]:
    """Return the holds behind uses that last at a version."""
    holds = [hold for use in uses for hold in use.holds]
    lasting = [hold for hold in holds if hold.from_rv <= rv < (hold.until_rv or rv + 1)]
    return sorted(lasting, key=lambda hold: (hold.from_rv, hold.device))


def _events(uses: Iterable[Use]) -> Iterator[tuple[int, int, Use]]:
    for number, use in enumerate(uses):
        if use.until_rv is None or use.until_rv > use.from_rv:
            yield use.from_rv, number, use
            if use.until_rv is not None:
                yield use.until_rv, number, use


def joined(holds: Sequence[hold_history.Hold], amount: Fraction) -> Iterator[Use]:
    """Yield the times in which at least one of the holds of a device lasts, each as one use."""
    group: list[hold_history.Hold] = []
    until: int | None = 0
    for hold in sorted(holds, key=lambda hold: hold.from_rv):
        if group and until is not None and hold.from_rv >= until:
            yield Use(tuple(group), amount, group[0].from_rv, until)
            group = []
        is_open = hold.until_rv is None or (bool(group) and until is None)
        until = None if is_open else max(hold.until_rv or 0, (until or 0) if group else 0)
        group.append(hold)
    if group:
        yield Use(tuple(group), amount, group[0].from_rv, until)
