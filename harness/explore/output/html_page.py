"""HTML page of a run: story, one lane for each task, and the causality curve.

The page is self-contained, like every report.
"""

import dataclasses
from collections.abc import Sequence

from harness.explore.output import stories
from harness.explore.search import causality_curve, explored_run, tokens
from harness.report import drawing, page_templates

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


def render(
    token: tokens.Token, run: explored_run.ExploredRun, points: Sequence[causality_curve.Point] = ()
) -> str:
    """Return the page. Without `points` it has no causality curve."""
    story = stories.tell(run.moments, run.names, run.finding or "nothing was found")
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
            jump=causality_curve.steepest(points) if len(points) > 1 else None,
        )
    )


def _lanes(run: explored_run.ExploredRun) -> str:
    """Draw the steps of each task in order of execution; time is virtual and not drawn."""
    steps = [moment for moment in run.moments if stories.has_sentence(moment)]
    tasks = list(dict.fromkeys(moment.task for moment in steps))
    across = drawing.Scale(0, len(steps) + 1, 1.0, 99.0)
    body = []
    for index, task in enumerate(tasks):
        y = index * _LANE
        body.append(drawing.label(0, y + 12, drawing.shortened(task), kind="lane"))
        body.append(drawing.line(across.left, y + _LINE, across.right, y + _LINE, kind="grid"))
    every = -(-len(steps) // _NUMBERS_MAX)
    for number, moment in enumerate(steps, start=1):
        x, y = across(number), tasks.index(moment.task) * _LANE + _LINE
        body.append(drawing.dot(x, y, kind="stepA", title=f"{number}. {moment.name}"))
        if number % every == 0:
            body.append(drawing.label(x, y - 7, number, kind="tick", anchor="middle"))
    return drawing.svg(body, height=len(tasks) * _LANE, title="The run, task by task")


def _curve(points: Sequence[causality_curve.Point]) -> str:
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
