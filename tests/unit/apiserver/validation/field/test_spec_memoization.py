"""What was found of one spec is remembered for equal ones, and emptiness makes no difference."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.apiserver import statuses
from harness.apiserver.rules import causes, comparing, remembering


def test_equal_specs_are_looked_at_once() -> None:
    looked: list[Any] = []

    def rule(spec: dict[str, Any]) -> Iterator[statuses.Cause]:
        looked.append(spec)
        yield causes.required(spec["field"])

    remembered = remembering.by_content(rule)
    found = [list(remembered({"field": name})) for name in ("a", "a", "b")]
    assert [cause.field for (cause,) in found] == ["a", "a", "b"]
    assert looked == [{"field": "a"}, {"field": "b"}]
    large = {"field": "x" * remembering.BYTES_MAX}
    assert list(remembered(large)) == list(remembered(large))
    assert looked[2:] == [large, large]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": None, "c": [], "d": {"e": None}}, {"a": 1}, True),
        ([{"a": []}], [{}], True),
        (None, {}, False),
        ({"a": 0}, {}, False),
        ({"a": ""}, {}, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_what_is_the_same(one: Any, other: Any, same: bool) -> None:
    assert comparing.same(one, other) is same
