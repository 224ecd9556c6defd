"""Two answers, place by place. Texts that are meant for people are not compared."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ABSENT = "(absent)"


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """One place where an answer is not the recorded one."""

    path: str
    expected: Any
    actual: Any


def judge(steps: Sequence[Mapping[str, Any]], answers: Sequence[Any]) -> list[Difference]:
    """Return the differences between the answers to a case and those expected."""
    found: list[Difference] = []
    for number, step in enumerate(steps, start=1):
        sides = step["expect"], answers[number - 1] if number <= len(answers) else {}
        theirs, ours = (_without_plain_text(_without_messages(side)) for side in sides)
        found += differences(theirs, ours, f"step{number}")
    return found


def differences(expected: Any, actual: Any, path: str) -> Iterator[Difference]:
    """Every place where two JSON values differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            inner = f"{path}.{key}"
            yield from differences(expected.get(key, ABSENT), actual.get(key, ABSENT), inner)
    elif isinstance(expected, list) and isinstance(actual, list):
        length = max(len(expected), len(actual))
        padded = [[*side, *[ABSENT] * (length - len(side))] for side in (expected, actual)]
        for position, (left, right) in enumerate(zip(*padded, strict=True)):
            yield from differences(left, right, f"{path}[{position}]")
    elif expected != actual or type(expected) is not type(actual):
        yield Difference(path, expected, actual)


def _without_messages(value: Any) -> Any:
    """The same answer without the texts for people, and without the order of causes."""
    if isinstance(value, list):
        return [_without_messages(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "Status" and value.get("apiVersion") == "v1":
        return _status_without_messages(value)
    if isinstance(value.get("warning"), list):
        value = {**value, "warning": ["" for _ in value["warning"]]}
    return {key: _without_messages(item) for key, item in value.items()}


def _status_without_messages(status: Mapping[str, Any]) -> dict[str, Any]:
    result = {**status, "message": "" if "message" in status else None}
    details = status.get("details")
    if isinstance(details, dict) and isinstance(details.get("causes"), list):
        causes = [
            {**cause, "message": ""} if "message" in cause else cause for cause in details["causes"]
        ]
        causes.sort(key=lambda cause: (str(cause.get("field")), str(cause.get("reason"))))
        result["details"] = {**details, "causes": causes}
    return result


def _without_plain_text(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    is_json = "json" in answer.get("headers", {}).get("content-type", "")
    is_text = isinstance(answer.get("body"), str) and not is_json
    return {**answer, "body": ""} if is_text else answer
