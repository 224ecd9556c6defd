"""Names that a misspelt one may have meant."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` with the nearest of the known words; nothing when none is near."""
    by_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_case, n=1)
    return f" Did you mean {by_case[near[0]]!r}?" if near else ""
