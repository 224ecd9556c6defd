"""Equal specs share one result, even an empty one."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.validation.field import field_rules, spec_memoization


def test_equal_specs_are_looked_at_once() -> None:
    looked: list[Any] = []

    def rule(spec: dict[str, Any]) -> Iterator[Cause]:
        looked.append(spec)
        yield field_errors.required(spec["field"])

    remembered = spec_memoization.by_content(rule)
    found = [list(remembered({"field": name})) for name in ("a", "a", "b")]
    assert [cause.field for (cause,) in found] == ["a", "a", "b"]
    assert looked == [{"field": "a"}, {"field": "b"}]
    large = {"field": "x" * spec_memoization.BYTES_MAX}
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
    assert field_rules.semantically_equal(one, other) is same
