"""The answers of several plays; the plays themselves are replaced."""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

import pytest

from harness.confirmation import answers, confirming
from harness.scenario import loading

H1 = loading.load("h01-lost-answer")
A = answers.Answer


def confirm(
    given: Sequence[tuple[answers.Answer, int | None]],
    *,
    repeat: int = 1,
    shortens: bool = True,
) -> tuple[confirming.Confirmation, list[int]]:
    """Return the answer of plays that end like this, and the number of steps of each."""
    left: Iterator[tuple[answers.Answer, int | None]] = iter(given)
    lengths: list[int] = []

    def play(loaded: loading.Loaded) -> answers.Played:
        answer, late = next(left)
        lengths.append(len(answers.script_of(loaded).steps))
        return answers.Played(
            script="h1",
            answer=answer,
            sentence=str(answer),
            directory=pathlib.Path("/run"),
            late_step=late,
        )

    outcome = confirming.confirm([H1], play, repeat=repeat, shortens=shortens, tell=lambda _: None)
    return outcome, lengths


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
    ],
)
def test_the_answer_of_all_plays(
    given: Sequence[answers.Answer], answer: answers.Answer, code: int
) -> None:
    outcome, _ = confirm([(item, None) for item in given], repeat=len(given))
    assert (outcome.answer, outcome.answer.exit_code) == (answer, code)
    assert outcome.rate.failed == given.count(A.CONFIRMED)


def test_a_late_step_is_left_out() -> None:
    outcome, lengths = confirm([(A.NOT_FOLLOWED, 6), (A.CONFIRMED, None)])
    assert outcome.answer is A.CONFIRMED
    assert lengths == [7, 6]
    assert outcome.left_out == ["claim-2 is allocated, or 3 s pass"]


def test_without_some_steps_a_script_refutes_nothing() -> None:
    outcome, _ = confirm([(A.NOT_FOLLOWED, 6), (A.REFUTED, None)])
    assert outcome.answer is A.NOT_FOLLOWED


def test_steps_that_refer_to_a_late_one_go_with_it() -> None:
    outcome, lengths = confirm([(A.NOT_FOLLOWED, 4), (A.CONFIRMED, None)])
    assert lengths == [7, 5], "the delivery since that step is gone, too"
    assert outcome.answer is A.CONFIRMED


def test_a_step_of_a_user_is_never_left_out() -> None:
    outcome, lengths = confirm([(A.NOT_FOLLOWED, 1)])
    assert lengths == [7]
    assert outcome.left_out == []


def test_not_more_than_a_few_steps_are_left_out() -> None:
    steps = answers.script_of(H1).steps
    script = answers.script_of(H1).model_copy(update={"steps": [*steps, *[steps[5]] * 9]})
    scenario = H1.scenario.model_copy(update={"traffic": script})
    longer = dataclasses.replace(H1, scenario=scenario)
    assert confirming.without(longer, 8) is not None
    outcome, _ = confirm([(A.NOT_FOLLOWED, 6), (A.NOT_FOLLOWED, 6), (A.NOT_FOLLOWED, 4)])
    assert outcome.answer is A.NOT_FOLLOWED
    assert len(outcome.played) <= 1 + confirming.SHORTER_MAX


def test_scripts_of_findings_are_played_as_they_are() -> None:
    outcome, lengths = confirm([(A.NOT_FOLLOWED, 6)], shortens=False)
    assert lengths == [7]
    assert outcome.left_out == []
