"""Parts that come again are decoded once; how many are kept is bounded."""

import pytest

from harness.checks.observed import interning


def test_parts_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "BYTES_MAX", 10)
    parts = interning.DecodedParts(lambda content: [content])
    first = parts[b"12345"]
    assert parts[b"67890"] == [b"67890"]
    assert parts[b"12345"] is first
    parts[b"x"]
    assert parts[b"12345"] is not first


def test_values_belong_to_one_part_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "PARTS_MAX", 100)
    made: list[str] = []
    lengths = interning.DerivedValues[list[int], int](lambda part: made.append("") or len(part))  # type: ignore[func-returns-value]
    one, equal = [1], [1]
    assert [lengths.of(one), lengths.of(equal), lengths.of(one)] == [1, 1, 1]
    assert len(made) == 2
    # A part that is forgotten may leave its identity to another one, with another value.
    assert [lengths.of([0] * size) for size in range(1_000)] == list(range(1_000))
