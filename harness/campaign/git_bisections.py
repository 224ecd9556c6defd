"""Reads from git the bisection that is under way in the current folder."""

import dataclasses
import hashlib
import re
import shutil
import subprocess

from harness.campaign import bisection

_MARK = re.compile(r"# (\S+): \[([0-9a-f]+)\]")
_START = "git bisect start"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GitBisection:
    """A bisection that git has begun."""

    start: str
    """Identifies it: a digest of the ends of the search."""
    number: int
    """Number of the step that is under way, from 1."""
    steps: int
    """Most steps, on a straight line between the ends."""
    about: int
    """Steps that are expected by now."""
    news: int
    """Steps whose revision was marked with the new term: bad, unless the user chose another."""

    def known(self, sought: bisection.Sought) -> dict[str, int | str]:
        """Return the fields of a step that are known."""
        olds = self.number - 1 - self.news
        invalid = self.news if sought == "first bad" else olds
        known = {"number": self.number, "steps": self.steps, "about": self.about}
        return {"start": self.start, "invalid": invalid, **known}


def read() -> GitBisection | None:
    """Return the bisection; None if there is none, no git, or not yet both ends of the search."""
    new, old = _git("bisect", "terms", "--term-bad"), _git("bisect", "terms", "--term-good")
    ends, judged = _marks(_git("bisect", "log"), new=new, old=old)
    if not ends:
        return None
    done = len(judged)
    return GitBisection(
        start=hashlib.sha256(repr(ends).encode()).hexdigest()[:16],
        number=done + 1,
        steps=bisection.steps_for(_revisions(ends, new)),
        about=done + bisection.steps_for(_revisions([*ends, *judged], new)),
        news=sum(term == new for term, _ in judged),
    )


_Marks = list[tuple[str, str]]


def _marks(log: str, *, new: str, old: str) -> tuple[_Marks, _Marks]:
    """Return the terms and revisions that are the ends of the search, and those of its steps.

    Ends that the first command names stand in the log before it. Both are empty without both ends.
    """
    ends, judged = list[tuple[str, str]](), list[tuple[str, str]]()
    is_begun = False
    for line in log.splitlines():
        has_both = {new, old} == {term for term, _ in ends}
        is_begun = is_begun or line.startswith(_START)
        found = _MARK.match(line)
        if found and found[1] in (new, old):
            (judged if is_begun and has_both else ends).append((found[1], found[2]))
    has_both = {new, old} == {term for term, _ in ends}
    return (ends, judged) if has_both else ([], [])


def _revisions(marks: _Marks, new: str) -> int:
    """Return the number of revisions among which the sought one is."""
    last_new = [revision for term, revision in marks if term == new][-1]
    olds = [revision for term, revision in marks if term != new]
    return int(_git("rev-list", "--count", last_new, "--not", *olds) or 0)


def _git(*words: str) -> str:
    """Return what git prints; empty if it fails or is not there."""
    program = shutil.which("git")
    if program is None:
        return ""
    ended = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    return ended.stdout.strip() if ended.returncode == 0 else ""
