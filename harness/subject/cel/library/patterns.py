"""Regular expressions: `matches` by RE2 itself, `find` and `findAll` by Python's `re`.

The binding offers RE2 as `matches` only. So RE2 decides which patterns are valid, and Python finds
the text; that differs for classes that RE2 has and Python has not, such as `\\pL`.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

from cel_expr_python import cel

from harness.subject.cel.values import EvaluationError, no_overload

_REPETITIONS_MAX = 1000
"""The most repetitions that RE2 accepts."""
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\t\n\v\f\r ",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}


@functools.cache
def _matcher() -> Any:
    variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    return cel.NewEnv(variables=variables).compile("text.matches(pattern)")


def matches(text: Any, pattern: Any) -> bool:
    """Return whether the pattern matches a part of the text; raises EvaluationError if invalid."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise no_overload()
    answer = _matcher().eval(data={"text": text, "pattern": pattern})
    if answer.type() != cel.Type.BOOL:
        raise EvaluationError(f"error parsing regexp: {pattern}")
    return bool(answer.value())


def is_valid(pattern: str) -> bool:
    """Return whether RE2 accepts a pattern."""
    try:
        matches("", pattern)
    except EvaluationError:
        return False
    return True


@functools.lru_cache(256)
def _compiled(pattern: str) -> re.Pattern[str]:
    if not is_valid(pattern):
        raise EvaluationError(f"Illegal regex: error parsing regexp: {pattern}")
    shown = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), pattern)
    try:
        return re.compile(shown.replace(r"\z", r"\Z"), re.ASCII)
    except re.error as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _next_match(text: str, pattern: str, at: int) -> re.Match[str] | None:
    """Return the first match at or after `at`; None if there is none.

    Python tries alternatives one after the other, which may take exponential time where nothing
    matches. So RE2 says where the match begins, unless the pattern is simple or the text long.
    """
    compiled = _compiled(pattern)
    is_simple = sum(map(pattern.count, "*+?{|")) <= 1
    if is_simple or len(text) > _REPETITIONS_MAX:
        return compiled.search(text, at) if is_simple or matches(text, pattern) else None
    least, most = at, len(text)
    if not _begins(text, pattern, least, most):
        return None
    while least < most:
        middle = (least + most) // 2
        if _begins(text, pattern, least, middle):
            most = middle
        else:
            least = middle + 1
    return compiled.match(text, least)


def _begins(text: str, pattern: str, least: int, most: int) -> bool:
    return matches(text, f"^(?s:.{{{least},{most}}})(?:{pattern})")


def _matches_in(text: Any, pattern: Any) -> Iterator[str]:
    """Yield the matches as Go does: no empty text right behind a match."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise no_overload()
    at, end = 0, -1
    while at <= len(text) and (found := _next_match(text, pattern, at)):
        if found[0] or found.start() != end:
            yield found[0]
        end = found.end()
        at = end if found[0] else end + 1


def _find(text: Any, pattern: Any) -> str:
    return next(_matches_in(text, pattern), "")


def _find_all(text: Any, pattern: Any, limit: int = -1) -> list[str]:
    found = _matches_in(text, pattern)
    return list(found if limit < 0 else itertools.islice(found, limit))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matches": matches,
    "find": _find,
    "findAll": _find_all,
}
"""The functions by name."""
