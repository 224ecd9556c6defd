"""HTML page of a run: story, one lane for each task, and the causality curve.

The page is self-contained, like every report.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from harness import seeds
from harness.explore.search import explored_run, random_strategies, search_campaign, tokens
from harness.report import drawing, page_templates
from harness.report.causes import step_sentences


def step_lines(
    steps: Sequence[explored_run.RunStep], names: step_sentences.Names, finding: str
) -> list[str]:
    """Return one sentence for each step that has a phrase, and the finding as the last one."""
    sentences = [
        step_sentences.sentence(step.task, step.name, step.fields, names)
        for step in steps
        if has_sentence(step)
    ]
    return [*sentences, f"therefore {finding}"]


def has_sentence(step: explored_run.RunStep) -> bool:
    """Return whether the story has a sentence for the step."""
    return step_sentences.has_sentence(step.name, step.fields)


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


_LANE, _LINE = 44.0, 34.0
"""Height of a lane, and of the line within it, below its name."""
_NUMBERS_MAX = 20
"""Steps with a number in the picture; of more, every second one has a number, or every third…"""
_CURVE_HEIGHT = 110.0


@dataclasses.dataclass(frozen=True, slots=True)
class Sentence:
    """One line of the story."""

    number: int
    text: str


def render(token: tokens.Token, run: explored_run.ExploredRun, points: Sequence[Point] = ()) -> str:
    """Return the page. Without `points` it has no causality curve."""
    story = step_lines(run.steps, run.names, run.finding or "nothing was found")
    return (
        page_templates.templates()
        .get_template("explored.html.j2")
        .render(
            token=str(token),
            scenario=token.scenario,
            defects=token.defects,
            remedies=token.remedies,
            deviations=token.deviations,
            finding=run.finding,
            story=[Sentence(number, text) for number, text in enumerate(story, start=1)],
            lanes=_lanes(run),
            points=points,
            curve=_curve(points) if points else "",
            jump=steepest(points) if len(points) > 1 else None,
        )
    )


def _lanes(run: explored_run.ExploredRun) -> str:
    """Draw the steps of each task in order of execution; time is virtual and not drawn."""
    steps = [step for step in run.steps if has_sentence(step)]
    tasks = list(dict.fromkeys(step.task for step in steps))
    across = drawing.Scale(0, len(steps) + 1, 1.0, 99.0)
    body = []
    for index, task in enumerate(tasks):
        y = index * _LANE
        body.append(drawing.label(0, y + 12, drawing.shortened(task), kind="lane"))
        body.append(drawing.line(across.left, y + _LINE, across.right, y + _LINE, kind="grid"))
    every = -(-len(steps) // _NUMBERS_MAX)
    for number, step in enumerate(steps, start=1):
        x, y = across(number), tasks.index(step.task) * _LANE + _LINE
        body.append(drawing.dot(x, y, kind="stepA", title=f"{number}. {step.name}"))
        if number % every == 0:
            body.append(drawing.label(x, y - 7, number, kind="tick", anchor="middle"))
    return drawing.svg(body, height=len(tasks) * _LANE, title="The run, task by task")


def _curve(points: Sequence[Point]) -> str:
    across = drawing.Scale(0, len(points) - 1, 1.0, 99.0)
    up = drawing.Scale(0, 1, _CURVE_HEIGHT, 8)
    line = [(across(point.choice), up(point.failing)) for point in points]
    body = [
        drawing.area(line, floor=_CURVE_HEIGHT, kind="area"),
        drawing.label(0, 18, "all futures fail", kind="lane"),
        drawing.label(0, _CURVE_HEIGHT, "none fails", kind="lane"),
        *drawing.time_axis(across, y=_CURVE_HEIGHT + 2, unit=""),
    ]
    return drawing.svg(
        body, height=_CURVE_HEIGHT + 26, title="Share of failing futures after each choice"
    )
