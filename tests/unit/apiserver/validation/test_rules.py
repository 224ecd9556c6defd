"""Rules of fields that several kinds share."""

from typing import Any

import pytest

from harness.apiserver.validation import rules


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
    assert rules.semantically_equal(one, other) is same
