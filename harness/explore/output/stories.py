"""The story of a run in sentences, and at which of its choices it began to fail."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from harness import seeds
from harness.explore.search import explored_run, random_strategies, search_campaign, tokens
from harness.report.causes import step_sentences


def step_lines(
    steps: Sequence[explored_run.RunStep], names: step_sentences.Names, finding: str
) -> list[str]:
    """Return one sentence for each step that has a phrase, and the finding as the last one."""
    sentences = [
        step_sentences.sentence(step.task, step.name, step.fields, names)
        for step in steps
        if step_sentences.has_sentence(step.name, step.fields)
    ]
    return [*sentences, f"therefore {finding}"]


STAY = 0.7
"""Probability of the random walk to let the running task continue."""


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """A choice of the failing run."""

    choice: int
    """Number of decisions taken from the run; all later ones are random."""
    failing: float
    """Share of the continuations that fail too."""


def curve(token: tokens.Token, *, futures: int, seed: int) -> Iterator[Point]:
    """Yield a point for each choice of the run, in order; each costs `futures` runs."""
    spec, whole = token.spec, search_campaign.replay(token).decisions
    streams = seeds.Seeds(seed)
    for choice in range(len(whole) + 1):
        failing = 0
        for number in range(futures):
            stream = streams.stream("future", choice, number)
            strategy = random_strategies.Branch(
                whole[:choice], random_strategies.RandomWalk(stream, stay=STAY)
            )
            run = explored_run.explore_once(
                spec, strategy, defects=token.defects, remedies=token.remedies
            )
            failing += run.finding is not None
        yield Point(choice, failing / futures)


def steepest(points: Sequence[Point]) -> Point:
    """Return the choice after which the probability of failure rises most."""
    steps = itertools.pairwise(points)
    return max(steps, key=lambda pair: pair[1].failing - pair[0].failing)[1]
