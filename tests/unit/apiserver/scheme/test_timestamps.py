"""Times as Go reads and writes them."""

import re

import pytest

from harness.apiserver.scheme import timestamps


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"),
        ("2024-01-01T00:00:00.999Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:30:00+01:00", "2023-12-31T23:30:00Z"),
        ("0001-01-02T00:00:00Z", "0001-01-02T00:00:00Z"),
    ],
)
def test_seconds(text, wanted):
    assert timestamps.canonical(text) == wanted


def test_microseconds():
    text = "2024-01-01T02:00:00.000001+02:00"
    assert timestamps.canonical_micro(text) == "2024-01-01T00:00:00.000001Z"


@pytest.mark.parametrize(
    "text",
    ["", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00:00Zx", "2023-02-29T00:00:00Z"],
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match=re.escape(f'parsing time "{text}": ')):
        timestamps.canonical(text)


def test_microseconds_need_six_digits():
    with pytest.raises(ValueError, match=r'parsing time "2024-01-01T00:00:00Z"'):
        timestamps.canonical_micro("2024-01-01T00:00:00Z")
