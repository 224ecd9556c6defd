"""Facts about a tested program that are known before its first run; plans and results have them."""

from typing import Literal

import msgspec

Kind = Literal["python", "kube-scheduler", "command", "cluster", "external"]
Choice = Literal["quick", "default", "all", "chosen"]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that is not run, although the choice would have it."""

    scenario: str
    reason: str


class TestedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """The program of a test."""

    __test__ = False  # pytest takes it for a class of tests

    kind: Kind
    name: str
    """Its own name, for sentences: `kube-scheduler`, or the file's of a stranger's."""
    version: str = ""
    """As `1.36.3`; empty: it does not say."""
    subject: str
    """As `--subject` takes it, with its flags."""
    flags: list[str] = []
    only_lists: list[str] = []
    """Resources that it lists again and again and never watches: `resourceclaims`, `pods`."""
    choice: Choice = "default"
    left_out: list[LeftOut] = []
    not_tried: list[str] = []
    """Features that no scenario of this choice has, such as `extended resources`."""
    must_survive: list[str] = []

    @property
    def counted(self) -> list[str]:
        count = len(self.left_out)
        return [f"{count} scenario{'s' * (count > 1)} left out"] if count else []

    @property
    def sentences(self) -> list[str]:
        more = "name a scenario with them" if self.kind == "command" else "--all tries more"
        untried = f"not tried: {', '.join(self.not_tried)} ({more})"
        return [
            *([untried] if self.not_tried else []),
            *(f"left out: {item.scenario}: {item.reason}" for item in self.left_out),
        ]

    @property
    def title(self) -> str:
        words = " ".join(filter(None, (self.name, self.version)))
        return f"{words} with {' '.join(self.flags)}" if self.flags else words
