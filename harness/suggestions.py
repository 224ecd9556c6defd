"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable, Sequence

NEAREST, NAMED = 3, 8
"""Most names in a suggestion, and in a list of names if none is similar."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` with the most similar known word, or "" if none is similar."""
    by_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_case, n=1)
    return f" Did you mean {by_case[near[0]]!r}?" if near else ""


def listed(word: str, known: Sequence[str], *, title: str, where: str) -> str:
    """Return the nearest names as a question, or the first names if none is near.

    `title` stands before the names; `where` says where all of them are listed.
    """
    near = difflib.get_close_matches(word, known, n=NEAREST)
    if near:
        return f" Did you mean {' or '.join(map(repr, near))}? {where} lists all."
    more = len(known) - NAMED
    rest = f" and {more} more, which {where} lists" * (more > 0)
    return f" {title}: {', '.join(known[:NAMED]) or 'none'}{rest}."
