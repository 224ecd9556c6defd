"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` with the most similar known word, or "" if none is similar."""
    by_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_case, n=1)
    return f" Did you mean {by_case[near[0]]!r}?" if near else ""
