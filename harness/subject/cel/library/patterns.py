"""Regular expressions: `matches` by RE2 itself, `find` and `findAll` by Python's `re`.

The binding offers RE2 as `matches` only. So RE2 decides which patterns are valid, and Python finds
the text; that differs for classes that RE2 has and Python has not, such as `\\pL`.
"""

import functools
import re
from collections.abc import Callable
from typing import Any

from cel_expr_python import cel

from harness.subject.cel.values import EvaluationError, no_overload

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


def _find(text: Any, pattern: Any) -> str:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise no_overload()
    found = _compiled(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: Any, pattern: Any, limit: int = -1) -> list[str]:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise no_overload()
    found: list[str] = []
    end = -1
    for match in _compiled(pattern).finditer(text):
        if match[0] or match.start() != end:  # Go finds no empty text right behind a match
            found.append(match[0])
        end = match.end()
    return found if limit < 0 else found[:limit]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matches": matches,
    "find": _find,
    "findAll": _find_all,
}
"""The functions by name."""
