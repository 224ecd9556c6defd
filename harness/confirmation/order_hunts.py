"""Searches a program's own interleavings: tries, shrinks, repeats, and writes a script."""

import collections
import dataclasses
import pathlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tomli_w

from harness import errors, rates, writing
from harness.confirmation import answers
from harness.history import histories, records
from harness.scenario import loading

Order = tuple[tuple[str, int], ...]
"""Places, and the visits of them in a try, at which threads are held."""
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

    def __init__(
        self,
        play: Play,
        *,
        folder: pathlib.Path,
        seed: int,
        claims: int,
        depth: int,
        functions: Sequence[str],
    ) -> None:
        """Each try has as many claims, pods and devices, and holds `depth` threads at most.

        `functions`: patterns of those that are places; none: those of interest. Scenarios are files
        in `folder`, or in a folder there.
        """
        self._play, self._folder, self._claims = play, folder, claims
        self._name = f"order-{random.Random(seed).randrange(16**6):06x}"
        self._depth, self._functions = depth, list(functions)

    def search(self, seconds: float) -> Searched:
        """Try orders until one fails, or the time is up."""
        text = self._scenario(seconds=seconds, tries=100_000, depth=self._depth)
        played = self._played(text, "search")
        tried = list(_tried(played))
        return Searched(
            played=played,
            tries=len(tried),
            seconds=sum(item.ended_ns - item.begun_ns for item in tried) / 1e9,
            places=len({place for item in tried for place in item.visits}),
            pairs=len(
                {
                    (hold.place, other)
                    for item in tried
                    for hold in item.holds
                    for other in hold.during
                }
            ),
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
        text = self._repeated([order], shrunk.waits, times=TRIES, stops=True)
        file = self._folder / f"{self._name}.toml"
        writing.replace(file, text.encode())
        loaded = loading.load(str(file))
        plays = [self._play(loaded).answer for _ in range(PLAYS)]
        return Written(file=file, rate=rates.Rate(plays.count(answers.Answer.CONFIRMED), PLAYS))

    def _rates(self, orders: Sequence[Order], waits: str) -> dict[Order, rates.Rate]:
        orders = list(dict.fromkeys(orders))
        text = self._repeated(orders, waits, times=REPEATS)
        tried = list(_tried(self._played(text, "repeats")))
        found: dict[Order, rates.Rate] = {}
        for order in orders:
            own = [item for item in tried if tuple(map(tuple, item.chosen)) == order]
            found[order] = rates.Rate(sum(bool(item.found) for item in own), len(own))
        return found

    def _repeated(
        self, orders: Sequence[Order], waits: str, *, times: int, stops: bool = False
    ) -> str:
        """Return the scenario that tries some orders, each as often as asked.

        `stops`: it ends at the first one that fails, and again in half of its repetitions.
        """
        tries = times * len(orders)
        chosen = [[list(visit) for visit in order] for order in orders]
        return self._scenario(
            chosen=chosen, waits=waits, tries=tries, seconds=60.0 + 10.0 * tries, stops=stops
        )

    def _scenario(self, **settings: Any) -> str:
        claims = [f"claim-{number}" for number in range(1, self._claims + 1)]
        pods = [
            {"kind": "Pod", "name": f"pod-{number}", "claims": [name]}
            for number, name in enumerate(claims, 1)
        ]
        step = {"do": "try-orders", "client": "scheduler", "functions": self._functions}
        text: str = tomli_w.dumps(
            {
                "schema_version": 1,
                "name": self._name,
                "title": "orders of a program's threads",
                "pools": {"nodes": 1, "devices_per_node": self._claims},
                "traffic": {
                    "profile": "script",
                    "expects": ["device_exclusivity"],
                    "objects": [*({"kind": "ResourceClaim", "name": n} for n in claims), *pods],
                    "steps": [step | settings],
                },
            }
        )
        return text

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
