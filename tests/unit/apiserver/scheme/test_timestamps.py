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
    ("text", "message"),
    [
        ("", 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("x", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        (
            "2024-01-01",
            'parsing time "2024-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
        ),
        (
            "2024-01-01T00:00:00",
            'parsing time "2024-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
        ),
        ("2024-01-01T00:00:00Zx", 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'),
        ("2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'),
        ("2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'),
        ("2023-02-01T24:00:00Z", 'parsing time "2023-02-01T24:00:00Z": hour out of range'),
    ],
)
def test_what_is_no_time(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        timestamps.canonical(text)


def test_microseconds_need_six_digits():
    with pytest.raises(ValueError, match=r'cannot parse "Z" as "\.000000"'):
        timestamps.canonical_micro("2024-01-01T00:00:00Z")
