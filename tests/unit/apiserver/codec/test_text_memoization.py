"""Which texts are remembered?"""

from harness.apiserver.codec import text_memoization


def test_small_texts_are_looked_at_once_and_large_ones_each_time() -> None:
    seen: list[tuple[int, bool]] = []

    @text_memoization.small_texts(10)
    def length(text: str, *, flag: bool = False) -> int:
        seen.append((len(text), flag))
        return len(text)

    large = "x" * (text_memoization.CHARACTERS_MAX + 1)
    for _ in range(2):
        assert (length("a"), length("a", flag=True), length(large)) == (1, 1, len(large))
    assert seen == [(1, False), (1, True), (len(large), False), (len(large), False)]


def test_of_one_text_as_well() -> None:
    seen: list[int] = []

    @text_memoization.small_text(10)
    def length(text: str) -> int:
        seen.append(len(text))
        return len(text)

    large = "x" * (text_memoization.CHARACTERS_MAX + 1)
    for _ in range(2):
        assert (length("a"), length(large)) == (1, len(large))
    assert seen == [1, len(large), len(large)]
