"""Names that are suggested: few, and the nearest."""

import pytest

from harness import suggestions

KNOWN = [f"name-{number:02}" for number in range(60)] + ["pod-churn", "pod-churns"]


@pytest.mark.parametrize("word", ["pod-chrn", "name-99", "nam-1"])
def test_near_names_alone_are_named(word: str) -> None:
    text = suggestions.listed(word, KNOWN, title="Known", where="`list`")
    assert text.startswith(" Did you mean '")
    assert text.endswith("? `list` lists all.")
    assert 1 <= text.count("'") // 2 <= suggestions.NEAREST


def test_without_a_near_one_the_first_are_named() -> None:
    text = suggestions.listed("xyz", KNOWN, title="Known", where="`list`")
    assert text.startswith(" Known: name-00, name-01,")
    assert text.endswith(f" and {62 - suggestions.NAMED} more, which `list` lists.")
    assert text.count("name-") == suggestions.NAMED
    assert suggestions.listed("xyz", ["a", "b"], title="Known", where="`list`") == " Known: a, b."
