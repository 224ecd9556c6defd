"""The answers of several plays."""

import pathlib
from collections.abc import Sequence

import pytest

from harness.confirmation import answers

A = answers.Answer


@pytest.mark.parametrize(
    ("given", "answer", "code"),
    [
        ([A.CONFIRMED], A.CONFIRMED, 10),
        ([A.REFUTED], A.REFUTED, 0),
        ([A.UNKNOWN], A.UNKNOWN, 20),
        ([A.OTHER], A.OTHER, 10),
        ([A.REFUTED, A.CONFIRMED, A.REFUTED], A.CONFIRMED, 10),
        ([A.REFUTED, A.REFUTED], A.REFUTED, 0),
        ([A.REFUTED, A.UNKNOWN], A.UNKNOWN, 20),
        ([A.REFUTED, A.NOT_FOLLOWED], A.NOT_FOLLOWED, 20),
        ([A.OTHER, A.CONFIRMED], A.CONFIRMED, 10),
        ([], A.UNKNOWN, 20),
    ],
)
def test_the_answer_of_all_plays(
    given: Sequence[answers.Answer], answer: answers.Answer, code: int
) -> None:
    played = [
        answers.Played(script="h1", answer=one, sentence="", directory=pathlib.Path("/run"))
        for one in given
    ]
    found = answers.of_all(played)
    assert (found, found.exit_code) == (answer, code)
