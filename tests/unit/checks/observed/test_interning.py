"""Parts that come again are decoded once; how many are kept is bounded."""

import msgspec
import pytest

from harness.checks.observed import interning


def test_equal_bytes_give_one_part() -> None:
    decoded: list[bytes] = []
    parts = interning.DecodedParts(lambda content: decoded.append(content) or [content])  # type: ignore[func-returns-value]
    one, two = parts[b"[1]"], parts[b"[1]"]
    assert one is two
    assert parts[b"[2]"] is not one
    assert decoded == [b"[1]", b"[2]"]


def test_parts_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "BYTES_MAX", 10)
    parts = interning.DecodedParts(lambda content: [content])
    first = parts[b"12345"]
    assert parts[b"67890"] == [b"67890"]
    assert parts[b"12345"] is first
    parts[b"x"]
    assert parts[b"12345"] is not first


def test_a_part_that_cannot_be_decoded_is_not_kept() -> None:
    parts = interning.DecodedParts(msgspec.json.Decoder(int).decode)
    for _ in range(2):
        with pytest.raises(msgspec.DecodeError):
            parts[b"{}"]


def test_values_belong_to_one_part_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "PARTS_MAX", 100)
    made: list[str] = []
    lengths = interning.DerivedValues[list[int], int](lambda part: made.append("") or len(part))  # type: ignore[func-returns-value]
    one, equal = [1], [1]
    assert [lengths.of(one), lengths.of(equal), lengths.of(one)] == [1, 1, 1]
    assert len(made) == 2
    # A part that is forgotten may leave its identity to another one, with another value.
    assert [lengths.of([0] * size) for size in range(1_000)] == list(range(1_000))
