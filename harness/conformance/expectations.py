"""Compare the response to a step with the step's expectations."""

import operator
import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.conformance import rulebooks, values

_SUCCESS = range(200, 300)


def shortcomings(
    step: rulebooks.Step, status: int, body: Any, known: Mapping[str, Any]
) -> list[str]:
    """Return a sentence for each expectation of a step that the response does not meet.

    `known` has the values that references in the step may name.
    """
    return [*_of_status(step, status, body, known), *_of_body(step, body, known)]


def _of_status(
    step: rulebooks.Step, status: int, body: Any, known: Mapping[str, Any]
) -> Iterator[str]:
    if step.gives and status != step.gives:
        yield f"expected status {step.gives}, got {status}{_status_message(body)}"
    elif not step.gives and status not in _SUCCESS:
        yield f"expected success, got {status}{_status_message(body)}"
    if step.reason and values.at(body, "reason") != step.reason:
        yield f"expected reason {step.reason}, got {_shown(values.at(body, 'reason'))}"
    pattern = values.fill(step.says, known)
    message = values.at(body, "message")
    if pattern and not (isinstance(message, str) and re.search(pattern, message)):
        yield f"expected a message like {pattern!r}, got {_shown(message)}"


def _of_body(step: rulebooks.Step, body: Any, known: Mapping[str, Any]) -> Iterator[str]:
    for expected, word, holds in (
        (step.has, "to be", operator.eq),
        (step.matches, "to match", _matches),
        (step.counts, "to have the length", _has_length),
        (step.differs, "to be set and not", _differs),
        (step.above, "to be above", _is_above),
    ):
        for path, value in values.fill(dict(expected), known).items():
            actual = values.at(body, path)
            if not holds(actual, value):
                yield f"expected {path} {word} {value!r}, got {_shown(actual)}"
    for path in values.fill(list(step.lacks), known):
        actual = values.at(body, path)
        if actual is not values.ABSENT:
            yield f"expected {path} to be absent, got {_shown(actual)}"


def _matches(actual: Any, pattern: str) -> bool:
    return actual is not values.ABSENT and re.search(pattern, str(actual)) is not None


def _has_length(actual: Any, length: int) -> bool:
    return length == (len(actual) if isinstance(actual, list | dict) else 0)


def _differs(actual: Any, unwanted: Any) -> bool:
    return actual is not values.ABSENT and actual != unwanted


def _is_above(actual: Any, bound: Any) -> bool:
    return str(actual).isdigit() and int(actual) > int(bound)


def _status_message(body: Any) -> str:
    message = values.at(body, "message")
    return f": {message}" if isinstance(message, str) else ""


def _shown(value: Any) -> str:
    return "nothing" if value is values.ABSENT else repr(value)
