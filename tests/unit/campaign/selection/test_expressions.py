"""`-k`: as pytest has it, except that purposes and hazards are whole names."""

import pathlib

import hypothesis
import pytest
from _pytest.mark.expression import Expression
from hypothesis import strategies

from harness import errors
from harness.campaign import campaign_plan
from harness.campaign.purposes import Purpose
from harness.campaign.selection import expressions

RUNS = [
    campaign_plan.PlannedRun(
        number=number,
        scenario=title,
        title=title,
        purpose=purpose,
        defects=defects,
        hypothesis=hazard,
        repetition=0,
        seed=number,
    )
    for number, (title, purpose, defects, hazard) in enumerate(
        [
            ("pod-churn", Purpose.SUBJECT, [], ""),
            ("controller-down", Purpose.SUBJECT, [], ""),
            ("pod-churn", Purpose.CONTROL, ["gather-not-atomic"], ""),
            ("stale-list", Purpose.HAZARD, [], "H3"),
            ("failover", Purpose.HAZARD, [], "H31"),
            ("two-schedulers", Purpose.HAZARD, [], "two uncoordinated schedulers"),
        ],
        start=1,
    )
]


def plan() -> campaign_plan.CampaignPlan:
    return campaign_plan.CampaignPlan(seed=1, reports="reports", cluster={}, runs=RUNS)


def chosen(text: str) -> list[int]:
    """The seeds of the runs that an expression selects: their former numbers."""
    return [run.seed for run in expressions.select(plan(), text).runs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [1, 2, 3, 4, 5, 6]),
        ("pod-churn", [1, 3]),
        ("POD-churn and not Control", [1]),
        ("control", [3]),
        ("controller", [2]),
        ("not control", [1, 2, 4, 5, 6]),
        ("H3", [4]),
        ("h31 or gather", [3, 5]),
        ("uncoordinated", [6]),
        ("(pod or stale) and (correct or control)", [1, 3, 4]),
        ("not not correct", [1, 2, 4, 5, 6]),
        ("churn[correct-0]", [1]),
    ],
)
def test_what_is_selected(text: str, expected: list[int]) -> None:
    assert chosen(text) == expected


def test_chosen_runs_are_numbered_from_one_and_the_plan_says_that_they_are_chosen() -> None:
    made = expressions.select(plan(), "hazard")
    assert [run.number for run in made.runs] == [1, 2, 3]
    assert made.selection == ["only 3 of 6 planned runs were to be made (-k 'hazard')"]
    for text in (" ", "not H3 or H3"):
        assert expressions.select(plan(), text) == plan(), "nothing is left out"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pod-chrun", "got 'pod-chrun', which none of them has. Did you mean 'pod-churn'?"),
        ("not contrl", "Did you mean 'control'?"),
        ("H1", "got 'H1'"),
        ("remedy", "selects none"),
        ("H3 and control", "'H3 and control' selects none"),
        ("pod and", "a word is missing at the end"),
        ("and pod", "a word is missing before 'and'"),
        ("pod churn", "expected `and`, `or` or the end before 'churn'"),
        ("(pod", "a parenthesis is not closed"),
        ("pod)", "the end before '\\)'"),
        ("()", "a word is missing before '\\)'"),
        ("(" * 10_000, "more than 50 parentheses"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(errors.UsageError, match=said):
        expressions.select(plan(), text)


TOKENS = strategies.sampled_from(
    ["and", "or", "not", "(", ")", "pod", "churn", "gather", "correct", "failover"]
)


@hypothesis.given(strategies.lists(TOKENS, min_size=1, max_size=9))
@hypothesis.settings(max_examples=300, deadline=None)
def test_pytest_refuses_and_selects_the_same(tokens: list[str]) -> None:
    text = " ".join(tokens)
    try:
        theirs = Expression.compile(text)
    except SyntaxError:
        with pytest.raises(errors.UsageError):
            expressions.parse(text)
        return
    ours = expressions.parse(text)
    for run in RUNS:
        assert ours.selects(run) == theirs.evaluate(lambda name, run=run, **_: name in run.id)


def test_the_shipped_default_can_be_selected(tmp_path: pathlib.Path) -> None:
    """Words of real plans: the subject, a defect, a remedy and a hazard."""
    made = campaign_plan.plan(
        ["answer-lost"], seed=1, repeat=1, repeat_controls=1, reports=tmp_path
    )
    for word in ("H1", "hazard", "remedy", "keep-in-flight", "python"):
        assert expressions.select(made, word).runs
