"""Draw what happens in each finding: docs/findings/pictures/, from the `steps` of the pages.

    .venv/bin/python tools/finding_pictures.py

A test compares. Each actor has a lane, and time goes down. The colours suit light and dark pages.
A line of its `steps` is one of

    user -> API server: claim-1, pod-1            a request, or an event, that arrives
    API server -x scheduler: the answer           one that never arrives
    scheduler -1> API server: claim-1 gets dev-1  one that is under way, until the line `1 arrives`
    scheduler: takes claim-1 out of flight        what a program does by itself
    therefore: dev-1 is in claim-1 and claim-2    the effect, last of all
"""

import argparse
import dataclasses
import html
import pathlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from harness.scenario import hazards

FOLDER = pathlib.Path(__file__).parents[1] / "docs" / "findings" / "pictures"
WIDTH, MARGIN, HEAD = 800, 30, 46
"""Pixels: of the picture, left of the first number, above the first step."""
_LINE, _GAP, _CHARACTER = 15, 16, 6.4
"""Pixels: height of a line of text, between steps, and the width of most characters."""
_LAYERS = ("path", "rect", "text")
"""From the lowest to the uppermost."""
_TEXT_MAX = 46
"""Characters of a line of text."""

ACTORS = (
    *("claim controller", "scheduler", "API server", "next scheduler", "second scheduler"),
    *("kubelet", "other client", "user"),
)
"""From left to right in a picture."""
EFFECT = "therefore"
LOST = "x"
_MESSAGE = re.compile(r"(?P<sender>[^:]+?) -(?P<how>\d?>|x) (?P<receiver>[^:]+): (?P<text>.+)")
_ARRIVAL = re.compile(r"(?P<number>\d) arrives")
_NOTE = re.compile(r"(?P<sender>[^:]+): (?P<text>.+)")

_STYLE = """
:root{--paper:#fff;--ink:#1f2328;--grey:#6e7781;--lane:#d0d7de;--box:#eef2f6;--bad:#cf222e;--late:#9a6700}
@media(prefers-color-scheme:dark){:root{--paper:#161b22;--ink:#e6edf3;--grey:#9198a1;--lane:#3d444d;
--box:#262c36;--bad:#ff7b72;--late:#e3b341}}
text{font:12px system-ui,sans-serif;fill:var(--ink);text-anchor:middle;paint-order:stroke;
stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
.n{fill:var(--grey);font-size:11px}.o{fill:var(--late);font-weight:600}.h{font-weight:600;font-size:13px}.i{stroke:none}
.l{stroke:var(--lane);stroke-width:2}.a{stroke:var(--ink);stroke-width:1.5;fill:none}
.x{stroke:var(--bad);stroke-width:1.5;fill:none}.d{stroke:var(--late);stroke-width:1.5;fill:none;
stroke-dasharray:5 4}.b{fill:var(--box);stroke:var(--lane)}.e{fill:var(--bad)}.w{fill:var(--paper);
stroke:none;font-weight:600}.p{fill:var(--paper);stroke:var(--lane)}.ta{fill:var(--ink)}.td{fill:var(--late)}
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A step of a hazard."""

    number: int
    """From 1; an arrival has that of what arrives."""
    text: str = ""
    sender: str = ""
    """An actor, or EFFECT; empty: it is an arrival."""
    receiver: str = ""
    """Empty: it is no message."""
    how: str = ""
    """LOST, or the digit under which a message is under way, or arrives."""


def parsed(lines: Sequence[str]) -> Iterator[Step]:
    """Yield the steps. Raises ValueError for a line that is none."""
    number, under_way = 0, dict[str, int]()
    for line in lines:
        if found := _ARRIVAL.fullmatch(line):
            if (sent := under_way.pop(found["number"], None)) is None:
                raise ValueError(f"expected a step that sends it before {line!r}")
            yield Step(sent, how=found["number"])
            continue
        number += 1
        step = _step(number, line)
        if step.how.isdigit():
            under_way[step.how] = number
        yield step


def _step(number: int, line: str) -> Step:
    found = _MESSAGE.fullmatch(line) or _NOTE.fullmatch(line)
    if found is None:
        raise ValueError(f"expected a step such as `user -> API server: pod-1`, got {line!r}")
    values = found.groupdict("")
    actors = {values["sender"], values.get("receiver", "")} - {""}
    if unknown := actors - {*ACTORS, EFFECT}:
        raise ValueError(f"expected one of {', '.join(ACTORS)}, got {unknown.pop()!r} in {line!r}")
    return Step(number, **values | {"how": values.get("how", "").rstrip(">")})


class Picture:
    """The lanes of a finding, and its steps from top to bottom."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._steps = list(parsed(lines))
        named = {name for step in self._steps for name in (step.sender, step.receiver)}
        self._actors = [name for name in ACTORS if name in named]
        self._y = float(HEAD)
        self._under_way: dict[str, tuple[Step, float]] = {}
        """Keyed by the digit of a step: the step, and how far down it starts."""

    def svg(self, title: str) -> str:
        """Return the picture."""
        body = sorted(
            (shape for step in self._steps for shape in self._drawn(step)),
            key=lambda shape: _LAYERS.index(shape[1:5]),  # texts and boxes lie above lines
        )
        height = self._y + 6
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{WIDTH}" height="{height:g}" role="img">\n<title>{html.escape(title)}</title>\n'
            f"<style>{_STYLE.replace(chr(10), '')}</style>\n"
            f'<rect class="p" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1:g}" rx="8"/>\n'
            + "\n".join([*self._lanes(height), *body])
            + "\n</svg>\n"
        )

    def _x(self, actor: str) -> float:
        room = (WIDTH - MARGIN) / len(self._actors)
        return MARGIN + room * (self._actors.index(actor) + 0.5)

    def _lanes(self, height: float) -> Iterator[str]:
        for actor in self._actors:
            x = self._x(actor)
            yield f'<path class="l" d="M{x:g} 32V{height - 8:g}"/>'
            yield f'<text class="h" x="{x:g}" y="22">{actor}</text>'

    def _drawn(self, step: Step) -> Iterator[str]:
        """Yield the shapes of a step, and move down by its height."""
        if step.sender == EFFECT:
            yield from self._effect(step.text)
        elif not step.sender:
            yield from self._arrival(step)
        else:
            yield self._numbered(step, "n", self._y + 12)
            lines = _wrapped(step.text)
            yield from self._message(step, lines) if step.receiver else self._note(step, lines)

    def _numbered(self, step: Step, kind: str, y: float) -> str:
        return f'<text class="{kind}" x="16" y="{y:g}">{step.number}</text>'

    def _note(self, step: Step, lines: Sequence[str]) -> Iterator[str]:
        width = max(map(len, lines)) * _CHARACTER + 18
        x = self._inside(self._x(step.sender), width)
        height = len(lines) * _LINE + 8
        yield (
            f'<rect class="b" x="{x - width / 2:g}" y="{self._y - 2:g}" width="{width:g}" '
            f'height="{height:g}" rx="5"/>'
        )
        yield from self._texts(lines, x, self._y, "i")
        self._y += height + _GAP - 6

    def _message(self, step: Step, lines: Sequence[str]) -> Iterator[str]:
        start, end = self._x(step.sender), self._x(step.receiver)
        width = max(map(len, lines)) * _CHARACTER
        yield from self._texts(lines, self._inside((start + end) / 2, width), self._y, "")
        y = self._y + len(lines) * _LINE + 4
        if step.how == LOST:
            yield from _lost(start, end, y)
        elif step.how:
            self._under_way[step.how] = (step, y)
        else:
            yield f'<path class="a" d="M{start:g} {y:g}H{end:g}"/>{_head(start, end, y, "ta")}'
        self._y = y + _GAP

    def _arrival(self, step: Step) -> Iterator[str]:
        sent, top = self._under_way.pop(step.how)
        start, end = self._x(sent.sender), self._x(sent.receiver)
        y = self._y + 4
        near = start + (22 if end > start else -22)
        yield f'<path class="d" d="M{start:g} {top:g}H{near:g}L{near:g} {y:g}H{end:g}"/>'
        yield _head(start, end, y, "td")
        yield self._numbered(step, "n o", y + 4)
        self._y = y + _GAP

    def _effect(self, text: str) -> Iterator[str]:
        lines = textwrap.wrap(text, 100)
        height = len(lines) * _LINE + 12
        yield (
            f'<rect class="e" x="12" y="{self._y:g}" width="{WIDTH - 24}" height="{height}" rx="5"/>'
        )
        yield from self._texts(lines, WIDTH / 2, self._y + 4, "w")
        self._y += height + 6

    def _inside(self, x: float, width: float) -> float:
        """Return the middle of a text so that all of it is in the picture."""
        return min(max(x, MARGIN + width / 2), WIDTH - 10 - width / 2)

    def _texts(self, lines: Sequence[str], x: float, y: float, kind: str) -> Iterator[str]:
        style = f' class="{kind}"' if kind else ""
        for number, line in enumerate(lines):
            down = y + 12 + number * _LINE
            yield f'<text{style} x="{x:g}" y="{down:g}">{html.escape(line)}</text>'


def _wrapped(text: str) -> list[str]:
    """Return as few lines as possible, of about the same length."""
    fewest = len(textwrap.wrap(text, _TEXT_MAX))
    widths = range(len(text) // fewest, _TEXT_MAX + 1)
    return next(lines for width in widths if len(lines := textwrap.wrap(text, width)) == fewest)


def _lost(start: float, end: float, y: float) -> Iterator[str]:
    middle = (start + end) / 2
    yield f'<path class="x" d="M{start:g} {y:g}H{middle:g}M{middle - 5:g} {y - 5:g}l10 10m0-10l-10 10"/>'


def _head(start: float, end: float, y: float, kind: str) -> str:
    """Return the head of an arrow to the right, or to the left."""
    back = -8 if end > start else 8
    return f'<path class="{kind}" d="M{end:g} {y:g}l{back} -4v8z"/>'


def drawn() -> Mapping[str, str]:
    """Return the pictures by the names of their files."""
    return {
        f"{page.path.stem}.svg": Picture(page.hazard.steps).svg(page.hazard.title)
        for page in hazards.pages().values()
        if page.hazard.steps
    }


def main() -> None:
    """Write the pictures, and remove those of pages that are gone."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    FOLDER.mkdir(exist_ok=True)
    pictures = drawn()
    for path in FOLDER.glob("*.svg"):
        if path.name not in pictures:
            path.unlink()
    for name, picture in pictures.items():
        (FOLDER / name).write_text(picture, "utf-8")


if __name__ == "__main__":
    main()
