"""A search of many random worlds, each for a while, one after the other."""

import collections
import dataclasses
import itertools
import time
from collections.abc import Iterator

from harness import seeds
from harness.explore.search import search_campaign, tokens
from harness.explore.worlds import chosen_parts
from harness.explore.worlds.random_worlds import random_specs

SCHEDULES = 8
"""Default number of schedules in each world."""
NUMBERS = 10**9
"""Worlds have numbers below this."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RandomHunt:
    """The subject, how long each world is searched, and the limits."""

    seed: int
    defects: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    """Remedies beside those against the known hazards of each world."""
    schedules: int = SCHEDULES
    """Number of schedules in each world; less if one of them has a finding."""
    worlds: int | None = None
    """Number of worlds; None: until `time_s` is over."""
    time_s: float | None = None
    """Time limit in seconds; None: no limit."""

    def require_possible(self) -> None:
        """Raise UsageError if the defects and remedies cannot be chosen together."""
        chosen_parts.of(self.defects, self.remedies)

    def hunt(self, index: int) -> search_campaign.Hunt:
        """Return the search of one world; every fourth takes random walks, the others PCT."""
        number = seeds.Seeds(self.seed).derive("random-world", index) % NUMBERS
        world = random_specs.name(number)
        remedies, sizes = random_specs.settings(world, self.defects, self.remedies)
        return search_campaign.Hunt(
            scenario=world,
            defects=self.defects,
            remedies=remedies,
            strategy="pct" if index % 4 else "random",
            seed=number,
            schedules=self.schedules,
            time_s=None,
            sizes=sizes,
        )


@dataclasses.dataclass(slots=True)
class RandomProgress:
    """Totals of the search so far."""

    worlds: int = 0
    schedules: int = 0
    features: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """Number of worlds with each feature."""
    found: tuple[str, tokens.Token] | None = None
    """The first finding and its token; None: there is none."""

    def add(self, hunt: search_campaign.Hunt, searched: search_campaign.SearchProgress) -> None:
        self.worlds += 1
        self.schedules += searched.schedules
        self.features.update(random_specs.features(hunt.scenario))
        if searched.findings and self.found is None:
            finding, decisions = searched.findings[0]
            self.found = finding, hunt.token(decisions)


def explore(hunt: RandomHunt) -> Iterator[RandomProgress]:
    """Search worlds until the first finding, repeatedly yielding the same growing progress."""
    progress, started = RandomProgress(), time.monotonic()
    for of_world in map(hunt.hunt, itertools.count()):
        try:
            *_, searched = search_campaign.explore(of_world)
        except Exception as error:
            error.add_note(f"in {of_world.scenario}, with the seed {of_world.seed}")
            raise
        progress.add(of_world, searched)
        yield progress
        is_late = hunt.time_s is not None and time.monotonic() - started >= hunt.time_s
        if progress.found is not None or is_late or progress.worlds == hunt.worlds:
            return
