"""The causality curve: from where on in a failing run is the failure likely, whatever happens next?

At each choice of the run, many random futures are tried. Where the share of failing futures jumps, there the race was lost: everything before is
ordinary, everything after is only its consequence.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from harness import seeds
from harness.explore.search import explored_run, random_strategies, search_campaign, tokens

STAY = 0.7


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """A choice of the failing run."""

    choice: int
    """So many decisions were taken as in the run; all later ones were random."""
    failing: float
    """Share of the futures that fail too."""


def curve(token: tokens.Token, *, futures: int, seed: int) -> Iterator[Point]:
    """A point for each choice of the run, in order; each costs `futures` runs."""
    spec, whole = token.spec, search_campaign.replay(token).decisions
    random = seeds.Seeds(seed)
    for choice in range(len(whole) + 1):
        failing = 0
        for number in range(futures):
            stream = random.stream("future", choice, number)
            strategy = random_strategies.Branch(
                whole[:choice], random_strategies.RandomWalk(stream, stay=STAY)
            )
            run = explored_run.explore_once(spec, strategy, defects=token.defects)
            failing += run.finding is not None
        yield Point(choice, failing / futures)


def steepest(points: Sequence[Point]) -> Point:
    """The choice after which failing became so much more likely than before."""
    steps = itertools.pairwise(points)
    return max(steps, key=lambda pair: pair[1].failing - pair[0].failing)[1]
