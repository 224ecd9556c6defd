"""Searches a program's own interleavings: tries, shrinks, repeats, and writes a script."""

import collections
import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Sequence

from harness import errors, rates, writing
from harness.confirmation import answers, order_scenarios
from harness.confirmation.order_scenarios import Order, World
from harness.history import histories, records
from harness.scenario import loading

Play = Callable[[loading.Loaded], answers.Played]
"""Plays a scenario once and judges it."""
REPEATS = 8
"""Tries of each order when it is shrunk."""
KEPT = 0.7
"""An order without one of its holds takes its place if it fails this much as often."""
TRIES = 40
"""Most tries of an order in its script."""
PLAYS = 4
"""Plays of the script."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The result of a search."""

    played: answers.Played
    tries: int
    seconds: float
    places: int
    """Different places that threads came to."""
    pairs: int
    """Pairs of places of which a thread was held at one while another one passed the other."""
    found: records.OrderTried | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """The order that is left of one that was found."""

    holds: Sequence[records.ThreadHold]
    waits: str
    rate: rates.Rate
    quiet: rates.Rate
    """How often the same objects fail without a hold."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The script of a finding."""

    file: pathlib.Path
    rate: rates.Rate


class OrderHunt:
    """One search and what follows from it."""

    def __init__(self, world: World, play: Play, *, folder: pathlib.Path, name: str) -> None:
        """Its scenarios are files in `folder`, or in a folder of this name there."""
        self._world, self._play = world, play
        self._folder, self._name = folder, name

    def search(self, seconds: float) -> Searched:
        """Try orders until one fails, or the time is up."""
        text = order_scenarios.search(self._world, name=self._name, seconds=seconds)
        played = self._played(text, "search")
        tried = list(_tried(played))
        return Searched(
            played=played,
            tries=len(tried),
            seconds=sum(item.ended_ns - item.begun_ns for item in tried) / 1e9,
            places=len({place for item in tried for place in item.visits}),
            pairs=len({pair for item in tried for pair in _pairs(item)}),
            found=_best(tried),
        )

    def shrink(self, found: records.OrderTried) -> Shrunk:
        """Leave out holds as long as it fails about as often."""
        order: Order = tuple((hold.place, hold.visit) for hold in found.holds)
        best = self._rates([order, ()], found.waits)
        rate, quiet = best[order], best.get((), rates.Rate(0, 0))
        while len(order) > 1:
            shorter = [order[:index] + order[index + 1 :] for index in range(len(order))]
            measured = self._rates(shorter, found.waits)
            least = max(shorter, key=lambda one: measured[one].share)
            if measured[least].share < KEPT * rate.share or not measured[least].failed:
                break
            order, rate = least, measured[least]
        holds = [hold for hold in found.holds if (hold.place, hold.visit) in order]
        return Shrunk(holds=holds, waits=found.waits, rate=rate, quiet=quiet)

    def write(self, shrunk: Shrunk) -> Written:
        """Write a script that tries the order until it fails, and play it."""
        order: Order = tuple((hold.place, hold.visit) for hold in shrunk.holds)
        text = order_scenarios.repeated(
            self._world,
            name=self._name,
            orders=[order],
            waits=shrunk.waits,
            times=TRIES,
            stops=True,
        )
        file = self._folder / f"{self._name}.toml"
        writing.replace(file, text.encode())
        loaded = loading.load(str(file))
        plays = [self._play(loaded).answer for _ in range(PLAYS)]
        return Written(file=file, rate=rates.Rate(plays.count(answers.Answer.CONFIRMED), PLAYS))

    def _rates(self, orders: Sequence[Order], waits: str) -> dict[Order, rates.Rate]:
        """Return how often each order fails."""
        orders = list(dict.fromkeys(orders))
        text = order_scenarios.repeated(
            self._world, name=self._name, orders=orders, waits=waits, times=REPEATS
        )
        tried = list(_tried(self._played(text, "repeats")))
        found: dict[Order, rates.Rate] = {}
        for order in orders:
            own = [item for item in tried if tuple(map(tuple, item.chosen)) == order]
            found[order] = rates.Rate(sum(bool(item.found) for item in own), len(own))
        return found

    def _played(self, text: str, what: str) -> answers.Played:
        folder = self._folder / self._name
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{what}.toml"
        writing.replace(file, text.encode())
        return self._play(loading.load(str(file)))


def _tried(played: answers.Played) -> Iterator[records.OrderTried]:
    """Yield the tries of a run. Raises ProcessError if it has none."""
    reader = histories.load(played.directory).orders()
    if reader is None:
        raise errors.ProcessError(
            f"expected orders to be tried, but the run ended before: {played.sentence}"
        )
    yield from (item for item in reader if isinstance(item, records.OrderTried))


def _best(tried: Sequence[records.OrderTried]) -> records.OrderTried | None:
    """Return the order that failed most often when it was repeated; None: none has failed."""
    repeats = collections.Counter(item.repeats for item in tried if item.found)
    found = [item for item in tried if item.found and not item.repeats]
    return max(found, key=lambda item: repeats[item.number], default=None)


def _pairs(tried: records.OrderTried) -> Iterator[tuple[str, str]]:
    for hold in tried.holds:
        yield from ((hold.place, other) for other in hold.during)
