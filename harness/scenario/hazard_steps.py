"""The steps of a hazard: what happens, in order, as lines of the front matter of its page.

A line is one of

    user -> API server: claim-1, pod-1            a request, or an event, that arrives
    API server -x scheduler: the answer           one that never arrives
    scheduler -1> API server: claim-1 gets dev-1  one that is under way, until the line `1 arrives`
    scheduler: takes claim-1 out of flight        what a program does by itself
    therefore: dev-1 is in claim-1 and claim-2    the effect, last of all
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence

from harness import errors

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

    def sentence(self) -> str:
        """Return the step on one line."""
        if not self.sender:
            return f"step {self.number} arrives"
        if not self.receiver:
            return f"{self.sender}: {self.text}"
        fate = {"": "", LOST: ", lost"}.get(self.how, ", under way")
        return f"{self.sender} to {self.receiver}{fate}: {self.text}"


def parsed(lines: Sequence[str]) -> Iterator[Step]:
    """Yield the steps. Raises ScenarioError for a line that is none."""
    number, under_way = 0, dict[str, int]()
    for line in lines:
        if found := _ARRIVAL.fullmatch(line):
            yield Step(_sent(line, found["number"], under_way), how=found["number"])
            continue
        number += 1
        step = _step(number, line)
        if step.how.isdigit():
            under_way[step.how] = number
        yield step


def numbered(lines: Sequence[str]) -> Iterator[str]:
    """Yield the steps as sentences, with the numbers that a picture has, too."""
    for step in parsed(lines):
        number = f"{step.number}." if step.sender else ""
        yield f"{number:<3} {step.sentence()}"


def _sent(line: str, digit: str, under_way: dict[str, int]) -> int:
    if digit not in under_way:
        raise errors.ScenarioError(f"expected a step that sends it before {line!r}")
    return under_way.pop(digit)


def _step(number: int, line: str) -> Step:
    found = _MESSAGE.fullmatch(line) or _NOTE.fullmatch(line)
    if found is None:
        raise errors.ScenarioError(
            f"expected a step such as `user -> API server: pod-1`, got {line!r}"
        )
    values = found.groupdict("")
    actors = {values["sender"], values.get("receiver", "")} - {""}
    if unknown := actors - {*ACTORS, EFFECT}:
        raise errors.ScenarioError(
            f"expected one of {', '.join(ACTORS)}, got {unknown.pop()!r} in {line!r}"
        )
    return Step(number, **values | {"how": values.get("how", "").rstrip(">")})
