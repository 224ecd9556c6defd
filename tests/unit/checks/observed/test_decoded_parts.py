"""Parts that come again are decoded once; how many are kept is bounded."""

import pytest

from harness.checks.observed import observations


def test_parts_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "BYTES_MAX", 10)
    parts = observations.DecodedParts(lambda content: [content])
    first = parts[b"12345"]
    assert parts[b"67890"] == [b"67890"]
    assert parts[b"12345"] is first
    parts[b"x"]
    assert parts[b"12345"] is not first
