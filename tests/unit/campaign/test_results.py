"""The result of a campaign for every mix of results of its runs."""

import msgspec
import pytest

from harness.campaign import campaign_documents, sentences
from harness.checks import verdicts
from harness.history import results
from harness.history.purposes import Purpose

VALID, UNKNOWN, INVALID = verdicts.Verdict
ERROR = None


def run(
    verdict: verdicts.Verdict | None, *, control: str = "", purpose: Purpose = Purpose.SUBJECT
) -> results.RunResult:
    return results.RunResult(
        scenario="churn",
        subject=control or "correct",
        purpose=Purpose.CONTROL if control else purpose,
        seconds=1.0,
        verdict=verdict,
        error="" if verdict else "it could not be made",
        double_allocations=2 if verdict is INVALID else 0,
    )


@pytest.mark.parametrize(
    ("subject", "controls", "expected"),
    [
        ([VALID], [INVALID], 0),
        ([VALID, VALID], [], 0),
        ([], [INVALID], 0),
        ([VALID, INVALID], [INVALID], 10),
        ([VALID, UNKNOWN], [INVALID], 20),
        ([VALID], [VALID], 20),
        ([VALID], [UNKNOWN], 20),
        ([VALID], [VALID, INVALID], 0),
        ([VALID, ERROR], [INVALID], 1),
        ([INVALID, ERROR], [INVALID], 10),
        ([UNKNOWN, ERROR], [INVALID], 1),
        ([VALID], [ERROR], 1),
    ],
)
def test_exit_code(
    subject: list[verdicts.Verdict | None],
    controls: list[verdicts.Verdict | None],
    expected: int,
) -> None:
    found = [run(item) for item in subject] + [run(item, control="defect") for item in controls]
    assert campaign_documents.exit_code(results.rows(found), planned=len(found)) == expected


@pytest.mark.parametrize(
    ("stuck", "consumed_twice", "expected"), [(1, 0, 20), (0, 1, 0), (1, 1, 0)]
)
def test_a_control_is_caught_by_what_is_consumed_twice_and_not_by_what_is_stuck(
    stuck: int, consumed_twice: int, expected: int
) -> None:
    found = msgspec.structs.replace(
        run(INVALID, control="defect"),
        double_allocations=0,
        stuck=stuck,
        consumed_twice=consumed_twice,
    )
    assert campaign_documents.exit_code(results.rows([run(VALID), found]), planned=2) == expected


@pytest.mark.parametrize(
    ("hazards", "remedied", "expected"),
    [
        ([INVALID], [VALID], 0),
        ([VALID, INVALID], [VALID, VALID], 0),
        ([VALID], [VALID], 20),
        ([UNKNOWN], [VALID], 20),
        ([INVALID], [UNKNOWN], 20),
        ([INVALID], [INVALID], 10),
        ([VALID], [INVALID], 10),
        ([ERROR], [VALID], 1),
    ],
)
def test_a_hazard_must_show_and_its_remedy_must_help(
    hazards: list[verdicts.Verdict | None],
    remedied: list[verdicts.Verdict | None],
    expected: int,
) -> None:
    found = [run(item, purpose=Purpose.HAZARD) for item in hazards]
    found += [run(item, purpose=Purpose.REMEDY) for item in remedied]
    assert campaign_documents.exit_code(results.rows(found), planned=len(found)) == expected


def test_a_missing_run_is_an_error() -> None:
    assert (
        campaign_documents.exit_code(results.rows([run(VALID)]), planned=2)
        == campaign_documents.HARNESS_ERROR
    )


@pytest.mark.parametrize(
    ("kinds", "others", "planned", "code"),
    [
        ([True], [VALID], 2, 2),
        ([True, True], [], 2, 2),
        ([True, False], [], 2, 1),
        ([True], [], 2, 1),
        ([True], [INVALID], 2, 10),
    ],
)
def test_errors_of_usage_alone_are_one(
    kinds: list[bool], others: list[verdicts.Verdict], planned: int, code: int
) -> None:
    """A subject that ends at once is no internal error."""
    found = [msgspec.structs.replace(run(None), is_usage_error=is_usage) for is_usage in kinds]
    table = results.rows([*found, *map(run, others)])
    assert campaign_documents.exit_code(table, planned=planned) == code


def test_nothing_at_all_is_an_error() -> None:
    assert campaign_documents.exit_code([], planned=1) == campaign_documents.HARNESS_ERROR


def test_rows_put_the_correct_subject_first_and_count() -> None:
    found = [run(INVALID, control="a-defect"), run(VALID), run(VALID, control="a-defect")]
    correct, control = results.rows(found)
    assert (correct.subject, len(correct.runs)) == ("correct", 1)
    assert (control.caught, len(control.runs), control.double_allocations) == (1, 2, 2)
    assert control.is_as_expected


def stuck(purpose: Purpose) -> results.RunResult:
    """A run that only got stuck."""
    return results.RunResult(
        scenario="churn",
        subject="some",
        purpose=purpose,
        seconds=1.0,
        verdict=INVALID,
        stuck=3,
    )


@pytest.mark.parametrize("purpose", [Purpose.CONTROL, Purpose.HAZARD])
def test_a_run_that_must_show_double_allocations_and_gets_stuck_has_missed_them(
    purpose: Purpose,
) -> None:
    [row] = results.rows([stuck(purpose)])
    assert stuck(purpose).is_missed
    assert (row.caught, row.stuck, row.is_as_expected) == (0, 3, False)
    assert campaign_documents.verdict([row]) is UNKNOWN


def test_a_stuck_subject_is_invalid() -> None:
    [row] = results.rows([stuck(Purpose.SUBJECT)])
    assert (row.stuck, row.double_allocations, row.is_as_expected) == (3, 0, False)
    assert campaign_documents.exit_code([row], planned=1) == 10


def test_what_one_of_two_schedulers_does_alone_is_no_part_of_the_hazard() -> None:
    hazard = run(INVALID, purpose=Purpose.HAZARD)
    (known,) = results.rows([hazard])
    assert known.is_as_expected
    alone = msgspec.structs.replace(hazard, by_one_scheduler=1)
    table = results.rows([alone])
    assert not table[0].is_as_expected
    assert campaign_documents.verdict(table) is INVALID
    assert campaign_documents.exit_code(table, planned=1) == 10
    for name, expected in {"H2": True, "kubernetes#128980": False}.items():
        (row,) = results.rows([msgspec.structs.replace(alone, hypothesis=name)])
        assert row.is_as_expected is expected


@pytest.mark.parametrize(
    ("others", "stuck", "doubles", "is_found"),
    [(1, 0, 0, True), (0, 1, 0, True), (0, 0, 1, False), (0, 0, 0, False)],
)
def test_a_defect_that_shows_otherwise_is_found_by_other_checks(
    others: int, stuck: int, doubles: int, is_found: bool
) -> None:
    control = msgspec.structs.replace(
        run(INVALID, control="controller-claims-not-enqueued"),
        shows_otherwise=True,
        others=others,
        stuck=stuck,
        double_allocations=doubles,
    )
    assert control.is_found is is_found
    of_scheduler = msgspec.structs.replace(control, shows_otherwise=False)
    assert of_scheduler.is_found is (doubles > 0)


def missing(control: str = "") -> results.RunResult:
    return msgspec.structs.replace(
        run(UNKNOWN, control=control), missing=True, reason="shard 2 of 3 is missing"
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([run(VALID), missing()], 20),
        ([run(INVALID), missing()], 10),
        ([run(VALID), run(INVALID, control="defect"), missing("defect")], 20),
        ([run(VALID), run(ERROR), missing()], 1),
    ],
)
def test_a_planned_run_without_a_result_makes_the_campaign_unknown(
    found: list[results.RunResult], expected: int
) -> None:
    """Also a control that another run has caught: it is not known what this one would show."""
    table = results.rows(found)
    assert campaign_documents.exit_code(table, planned=len(found)) == expected
    assert sum(row.missing for row in table) == 1
    assert not any(row.is_as_expected for row in table if row.missing)
    assert "1 planned run without a result" in sentences.of_table(table)


def test_the_summary_names_what_runs_used_and_did_not_examine() -> None:
    partly = msgspec.structs.replace(run(VALID), unexamined=["granted_shares"])
    text = sentences.of_table(results.rows([run(VALID), partly]))
    assert text.endswith("; not examined in every run: granted_shares")
    assert "not examined" not in sentences.of_table(results.rows([run(VALID)]))


def test_further_attempts_do_not_stand_for_runs_that_were_not_made() -> None:
    again = [msgspec.structs.replace(run(VALID, control="d"), attempt=number) for number in (0, 1)]
    table = results.rows([*again, msgspec.structs.replace(run(INVALID, control="d"), attempt=2)])
    assert campaign_documents.exit_code(table, planned=1) == 0
    assert campaign_documents.exit_code(table, planned=2) == campaign_documents.HARNESS_ERROR


def test_results_have_the_order_of_the_plan() -> None:
    found = [
        msgspec.structs.replace(run(VALID), number=number, attempt=attempt)
        for number, attempt in [(2, 1), (1, 0), (3, 0), (2, 0)]
    ]
    ordered = [(result.number, result.attempt) for result in results.in_plan_order(found)]
    assert ordered == [(1, 0), (2, 0), (2, 1), (3, 0)]


def test_a_campaign_of_controls_alone_says_nothing_of_a_subject() -> None:
    table = results.rows([run(INVALID, control="defect")])
    assert sentences.of_table(table) == "1 of 1 controls caught"
    assert sentences.of_table([]) == "no subject: no run was made"
    assert sentences.of_table(table, "mine 1.2").startswith("mine 1.2: no run was made; ")
