"""Values in messages, as Go prints them."""

import pytest

from harness.apiserver.codec import go_values


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a", '"a"'),
        ('say "x"', r'"say \"x\""'),
        ("a\\b\n\t\x00", r'"a\\b\n\t\x00"'),
        ("é\u00a0\U0001f600", '"é\\u00a0\U0001f600"'),
        ("\u200b", r'"\u200b"'),
    ],
)
def test_quoted_strings(text: str, quoted: str) -> None:
    assert go_values.quoted(text) == quoted


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        ({"A": "<&>"}, '{"A":"\\u003c\\u0026\\u003e"}'),
        ("x", '"x"'),
    ],
)
def test_values(value: object, shown: str) -> None:
    assert go_values.shown(value) == shown
