"""SVG shapes, scales and axes. Shapes have CSS classes; the page's style sheet sets the colours.

Positions from left to right are percentages of the picture's width, so that a picture fits every
width while its text keeps its size. Positions from top to bottom are pixels.
"""

import dataclasses
import html
import math
from collections.abc import Iterable, Iterator, Sequence

from harness.report import escaping

WIDTH = 100.0
"""Width of every picture, in percent."""
TICKS_MAX = 6
"""Labels on a time axis."""
VALUES_MAX = 4
"""Labels on a vertical axis."""
NAME_MAX = 26
"""Characters of a name in a picture."""
_LEAST = 0.12
"""Width of the narrowest bar, in percent, so that short intervals stay visible."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from values to percentages, or to pixels."""

    low: float
    high: float
    left: float = 0.0
    right: float = WIDTH

    def __call__(self, value: float) -> float:
        span = (self.high - self.low) or 1.0
        share = min(max((value - self.low) / span, 0.0), 1.0)
        return self.left + share * (self.right - self.left)


def text(value: object) -> str:
    return html.escape(escaping.visible(str(value)))


def svg(
    body: Iterable[str],
    *,
    height: float,
    title: str,
    description: str = "",
    over: Scale | None = None,
) -> str:
    """Return a picture with an accessible title and description.

    `over` is the scale of its time axis, by which a page can point at a moment of it.
    """
    ends = f' data-low="{over.low:g}" data-high="{over.high:g}"' if over else ""
    return (
        f'<svg class="plot" width="100%" height="{height:g}" role="img" '
        f'aria-label="{text(title)}"{ends}><title>{text(title)}</title>'
        f"<desc>{text(description)}</desc>{''.join(body)}</svg>"
    )


def rect(x: float, y: float, width: float, height: float, *, kind: str, title: str = "") -> str:
    start = f'<rect x="{x:.2f}%" y="{y:.1f}" width="{max(width, _LEAST):.2f}%" '
    start += f'height="{height:.1f}" class="{kind}"'
    return f"{start}><title>{text(title)}</title></rect>" if title else f"{start}/>"


def line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> str:
    return f'<line x1="{x1:.2f}%" y1="{y1:.1f}" x2="{x2:.2f}%" y2="{y2:.1f}" class="{kind}"/>'


def label(
    x: float,
    y: float,
    value: object,
    *,
    kind: str = "label",
    anchor: str = "start",
    aside: float = 0,
) -> str:
    dx = f' dx="{aside:g}"' if aside else ""
    return (
        f'<text x="{x:.2f}%" y="{y:.1f}"{dx} class="{kind}" text-anchor="{anchor}">'
        f"{text(value)}</text>"
    )


def shortened(name: str) -> str:
    return escaping.shortened(name, NAME_MAX)


def dot(x: float, y: float, *, kind: str, title: str) -> str:
    start = f'<circle cx="{x:.2f}%" cy="{y:.1f}" r="4" class="{kind}">'
    return f"{start}<title>{text(title)}</title></circle>"


Points = Sequence[tuple[float, float]]
"""Percentages from the left, and pixels from the top."""


def curve(points: Points, *, floor: float, kind: str) -> str:
    """Return straight lines between points above the floor; empty without points.

    A single point is drawn as a short line.
    """
    if not points:
        return ""
    (x, y), *others = points if len(points) > 1 else [*points, (points[0][0] + 0.5, points[0][1])]
    path = [f"M{x:.2f},{y:.1f}", *(f"L{x:.2f},{y:.1f}" for x, y in others)]
    return (  # a path cannot have percentages: it is stretched to the width of the picture
        f'<svg class="stretched" width="100%" height="{floor:g}" viewBox="0 0 100 {floor:g}" '
        f'preserveAspectRatio="none"><path d="{"".join(path)}" class="{kind}"/></svg>'
    )


def time_axis(scale: Scale, *, y: float, unit: str) -> list[str]:
    drawn = [line(scale.left, y, scale.right, y, kind="axis")]
    step = _round_step((scale.high - scale.low) / TICKS_MAX)
    number = math.ceil(scale.low / step)
    while number * step <= scale.high:
        value = number * step
        x = scale(value)
        anchor = "end" if x > 95 else "start" if x < 3 else "middle"
        drawn.append(label(x, y + 16, f"{value:g} {unit}", kind="tick time", anchor=anchor))
        number += 1
    return drawn


def value_axis(scale: Scale, *, unit: str) -> Iterator[str]:
    """Yield the grid lines of a vertical axis and their labels; `scale` gives pixels."""
    step = _round_step((scale.high - scale.low) / VALUES_MAX)
    for number in range(1, math.floor((scale.high - scale.low) / step) + 1):
        value = scale.low + number * step
        y = scale(value)
        yield line(0, y, WIDTH, y, kind="grid")
        yield label(0, y - 2, f"{value:,g}{unit}", kind="lane small", aside=3)


def _round_step(least: float) -> float:
    """Return the smallest of …, 1, 2, 2.5, 5, 10, 20, … that is at least `least`."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= least)
