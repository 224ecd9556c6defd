"""The language says what it is meant to say: the judges' tests are worth no more than this."""

import pytest

from harness.history import records
from tests.histories import language
from tests.histories.words import fault_words


def _said(text: str) -> list[str]:
    lines = []
    for record in language.observe(text):
        match record:
            case records.Observation():
                lines.append(f"{record.type} {record.resource} {record.resource_version}")
            case records.Listed():
                lines.append(f"{record.purpose} {record.resource} {record.count}")
            case records.Gap():
                lines.append(f"gap after {record.after_resource_version}")
            case _:
                pytest.fail(f"unexpected {record}")
    return lines


FIRST = ["first resourceclaims 0", "first pods 0"]


def test_commits_count_resource_versions_from_one() -> None:
    assert _said("a+D1 p* . a~") == [
        *FIRST,
        "ADDED resourceclaims 1",
        "ADDED pods 2",
        "DELETED resourceclaims 4",
        "final resourceclaims 0",
        "final pods 1",
        "FINAL pods 2",
    ]


def test_commits_in_a_gap_are_not_seen_but_listed_afterwards() -> None:
    assert _said("a+D1 [ a-D1 b+D1 p* ] b~") == [
        *FIRST,
        "ADDED resourceclaims 1",
        "gap after 1",
        "ADDED pods 4",
        "relist resourceclaims 2",
        "LISTED resourceclaims 2",
        "LISTED resourceclaims 3",
        "DELETED resourceclaims 5",
        "final resourceclaims 1",
        "FINAL resourceclaims 2",
        "final pods 1",
        "FINAL pods 4",
    ]


def test_an_open_gap_is_never_listed_again() -> None:
    assert "relist resourceclaims 1" not in _said("a+D1 [ a-D1")
    assert "gap after 1" in _said("a+D1 [ a-D1")


FAULTS = {
    "a+D1 . /lose-response:a": ("a", 1, 2.5, 2.5),
    "a+D1 a-D1 /delay-events:a>9 .": ("a", 2, 2.5, 9.5),
    "a+D1 /delay-events:a> .": ("a", 1, 1.5, None),
    ". . /delay-request:b<1 b+D1": ("b", 0, 1.5, 2.5),
    ". /stale-list:@1": ("", 1, 1.5, 1.5),
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.items())
def test_a_fault_hits_the_newest_version_between_two_commits(
    text: str, expected: tuple[str, int, float, float | None]
) -> None:
    [found] = fault_words.applications(text)
    begun, ended = (
        None if ns is None else (ns - language.START_NS) / language.COMMIT_NS
        for ns in (found.begun_ns, found.ended_ns)
    )
    assert (found.name, found.resource_version, begun, ended) == expected


@pytest.mark.parametrize(
    "text", ["a", "a+D", "p*x", "p:", "]", "/lose-response", "/x:a<", "[ [", "[ ] ]"]
)
def test_what_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(language.LanguageError):
        language.parse(text)


@pytest.mark.parametrize("text", ["a~", "a/p", "a+D1 a-D2", "a+D1 a-D1 a-D1", "a= a~ a~"])
def test_what_cannot_happen_is_refused(text: str) -> None:
    with pytest.raises(language.LanguageError):
        language.observe(text)
