"""SVG shapes, scales and axes. Shapes have CSS classes; the page's style sheet sets the colours."""

import dataclasses
import html
import math
from collections.abc import Iterable, Sequence

from harness.report import escaping

WIDTH = 960
"""Width of every picture, in SVG units."""
TICKS_MAX = 8
"""Labels on a time axis."""
NAME_MAX = 26
"""Characters of a name on the left of a picture."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from values to SVG units."""

    low: float
    high: float
    left: float = 0.0
    right: float = float(WIDTH)

    def __call__(self, value: float) -> float:
        """Return the position of a value, clipped to the ends of the scale."""
        span = (self.high - self.low) or 1.0
        share = min(max((value - self.low) / span, 0.0), 1.0)
        return self.left + share * (self.right - self.left)


def text(value: object) -> str:
    """Return the value as text, escaped for markup."""
    return html.escape(escaping.visible(str(value)))


def svg(body: Iterable[str], *, height: float, title: str, description: str = "") -> str:
    """Return a picture with an accessible title and description."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{text(title)}">'
        f"<title>{text(title)}</title><desc>{text(description)}</desc>{''.join(body)}</svg>"
    )


def rect(x: float, y: float, width: float, height: float, *, kind: str, title: str = "") -> str:
    """Return a bar, at least one unit wide so that short intervals stay visible."""
    inner = f"<title>{text(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" '
        f'class="{kind}">{inner}</rect>'
    )


def line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> str:
    """Return a line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def label(x: float, y: float, value: object, *, kind: str = "label", anchor: str = "start") -> str:
    """Return a text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{text(value)}</text>'
    )


def shortened(name: str) -> str:
    """Return a name that fits on the left of a picture."""
    return name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 1]}…"


def dot(x: float, y: float, *, kind: str, title: str) -> str:
    """Return a dot with a tooltip."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{kind}"><title>{text(title)}</title></circle>'


def area(points: Sequence[tuple[float, float]], *, floor: float, kind: str) -> str:
    """Return the area between a step curve and the floor; empty without points."""
    if not points:
        return ""
    path = [f"M{points[0][0]:.1f},{floor:.1f}"]
    previous = floor
    for x, y in points:
        path += [f"L{x:.1f},{previous:.1f}", f"L{x:.1f},{y:.1f}"]
        previous = y
    path.append(f"L{points[-1][0]:.1f},{floor:.1f}Z")
    return f'<path d="{"".join(path)}" class="{kind}"/>'


def time_axis(scale: Scale, *, y: float, unit: str) -> list[str]:
    """Return an axis with labels at round numbers."""
    drawn = [line(scale.left, y, scale.right, y, kind="axis")]
    step = _round_step((scale.high - scale.low) / TICKS_MAX)
    number = math.ceil(scale.low / step)
    while number * step <= scale.high:
        value = number * step
        near_end = scale(value) > scale.right - 30
        anchor = "end" if near_end else "middle"
        drawn.append(label(scale(value), y + 16, f"{value:g} {unit}", kind="tick", anchor=anchor))
        number += 1
    return drawn


def _round_step(least: float) -> float:
    """Return the smallest of …, 1, 2, 5, 10, 20, … that is at least `least`."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)
