"""Caches of small texts and documents."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.codec import memoization


def test_small_texts_are_looked_at_once_and_large_ones_each_time() -> None:
    seen: list[tuple[int, bool]] = []

    @memoization.small_texts(10)
    def length(text: str, *, flag: bool = False) -> int:
        seen.append((len(text), flag))
        return len(text)

    large = "x" * (memoization.CHARACTERS_MAX + 1)
    for _ in range(2):
        assert (length("a"), length("a", flag=True), length(large)) == (1, 1, len(large))
    assert seen == [(1, False), (1, True), (len(large), False), (len(large), False)]


def test_of_one_text_as_well() -> None:
    seen: list[int] = []

    @memoization.small_text(10)
    def length(text: str) -> int:
        seen.append(len(text))
        return len(text)

    large = "x" * (memoization.CHARACTERS_MAX + 1)
    for _ in range(2):
        assert (length("a"), length(large)) == (1, len(large))
    assert seen == [1, len(large), len(large)]


def test_results_of_equal_documents_are_cached_even_if_empty() -> None:
    seen: list[Any] = []

    def names(document: dict[str, Any]) -> Iterator[str]:
        seen.append(document)
        yield from document

    cached = memoization.small_documents(names)
    assert [list(cached(document)) for document in ({"a": 1}, {"a": 1}, {}, {})] == [
        ["a"],
        ["a"],
        [],
        [],
    ]
    assert seen == [{"a": 1}, {}]
    large = {"field": "x" * memoization.DOCUMENT_BYTES_MAX}
    assert list(cached(large)) == list(cached(large))
    assert seen[2:] == [large, large]
