"""Reading values and putting them into requests."""

import pytest

from harness.conformance.api import values

KNOWN = {"name": "n", "first": {"metadata": {"uid": "u", "labels": {"a.b/c": "d"}}, "items": [1]}}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{name}-b", "n-b"),
        ("{first.metadata.uid}", "u"),
        ("{first.metadata}", {"uid": "u", "labels": {"a.b/c": "d"}}),
        ("{first.metadata.labels[a.b/c]}", "d"),
        ("a{58}b", "a{58}b"),
        ("{unknown}", "{unknown}"),
        ([{"times": 2, "of": {"name": "d{i}"}}, "{name}"], [{"name": "d0"}, {"name": "d1"}, "n"]),
        ({"{name}": {"x": 1}}, {"n": {"x": 1}}),
    ],
)
def test_references_are_filled(template: object, filled: object) -> None:
    assert values.fill(template, KNOWN) == filled


def test_what_is_filled_in_is_a_copy() -> None:
    values.fill("{first.items}", KNOWN).append(2)
    assert KNOWN["first"]["items"] == [1]


def test_a_reference_to_nothing_is_an_error() -> None:
    with pytest.raises(KeyError):
        values.fill("{first.metadata.nothing}", KNOWN)


def test_a_merge_patch_removes_with_null() -> None:
    assert values.merge({"a": 1, "b": {"c": 1}}, {"a": None, "b": {"d": 2}}) == {
        "b": {"c": 1, "d": 2}
    }
