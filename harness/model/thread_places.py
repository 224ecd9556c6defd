"""Places in a program at which a thread can be stopped, as text.

`entry of F`, `entry of F called by G`, `return of F`, `return of F to G`, and for programs in
Python with named steps `step S`. F, G and S are patterns: `*` matches any characters but a slash,
`|` separates alternatives, and a pattern matches the end of a name from a dot or slash on:
`(*claimTracker).Get` is `k8s.io/…/dynamicresources.(*claimTracker).Get`.
"""

import functools
import re
from typing import Literal, NamedTuple

Point = Literal["entry", "return", "step"]
_PLACE = re.compile(
    r"(?:(entry) of (.+?)(?: called by (.+))?|(return) of (.+?)(?: to (.+))?|step (.+))"
)
FORMS = "`entry of F [called by G]` or `return of F [to G]`"


class Place(NamedTuple):
    """A place, as patterns of names of functions."""

    point: Point
    function: str
    caller: str = ""
    """The function that has called it; empty: any."""

    def __str__(self) -> str:
        if self.point == "step":
            return f"step {self.function}"
        between = {"entry": "called by", "return": "to"}[self.point]
        return f"{self.point} of {self.function}" + f" {between} {self.caller}" * bool(self.caller)


def parse(text: str) -> Place:
    """Return the place of a text. Raises ValueError for one that has none of the forms."""
    found = _PLACE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"expected a place as {FORMS}, got {text!r}")
    if found[1]:
        return Place("entry", found[2], found[3] or "")
    if found[4]:
        return Place("return", found[5], found[6] or "")
    return Place("step", found[7])


@functools.cache
def _expression(pattern: str) -> re.Pattern[str]:
    alternatives = [re.escape(part.strip()) for part in pattern.split("|")]
    one_of = "|".join(part.replace(r"\*", "[^/]*") for part in alternatives)
    return re.compile(f"(?:.*[./])?(?:{one_of})")


def matches(pattern: str, name: str) -> bool:
    """Return whether the pattern is the name of a function, or its end."""
    return _expression(pattern).fullmatch(name) is not None


def shortened(place: str) -> str:
    """Return a place with the names of its functions without the paths of their packages."""
    found = parse(place)
    return str(found._replace(function=short(found.function), caller=short(found.caller)))


def short(name: str) -> str:
    return name.rpartition("/")[2]
