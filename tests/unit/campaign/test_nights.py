"""The history of campaigns with a time budget: its lines, and what is said of the newest ones."""

import pathlib

import pytest

from harness import errors
from harness.campaign import campaign_documents, campaign_plan, nights, results, summaries
from harness.campaign.purposes import Purpose
from harness.checks import verdicts

VALID, INVALID, UNKNOWN = (
    verdicts.Verdict.VALID,
    verdicts.Verdict.INVALID,
    verdicts.Verdict.UNKNOWN,
)
PLAN = campaign_plan.CampaignPlan(
    seed=7, reports="reports", cluster={"name": "kind-1.36"}, runs=[], minutes=1
)


def run(
    verdict: verdicts.Verdict | None, *, control: bool = False, error: str = ""
) -> results.RunResult:
    return results.RunResult(
        scenario="churn",
        subject="gather-not-atomic" if control else "correct",
        purpose=Purpose.CONTROL if control else Purpose.SUBJECT,
        seconds=1.0,
        verdict=verdict,
        claims=10,
        double_allocations=int(verdict is INVALID),
        error=error,
    )


CAUGHT, MISSED = run(INVALID, control=True), run(VALID, control=True)


def entry(found: list[results.RunResult]) -> nights.Night:
    document = campaign_documents.document(results.rows(found), PLAN, pathlib.Path())
    return nights.night(found, document, PLAN, subject="python", seconds=90.0)


def test_the_figures() -> None:
    made = entry([run(VALID), run(UNKNOWN), run(None, error="x"), MISSED, CAUGHT])
    assert (made.runs, made.valid, made.failed) == (3, 1, 1)
    assert (made.controls, made.caught, made.cluster) == (1, 1, "kind-1.36")
    assert made.double_allocations == 0, "a control's are not findings"


def test_the_history_grows_and_the_newest_test_cases_are_beside_it(tmp_path: pathlib.Path) -> None:
    campaign = tmp_path / "campaigns" / "one"
    campaign.mkdir(parents=True)
    first = entry([run(VALID), CAUGHT])
    assert nights.remember(tmp_path, first, campaign=campaign) == [first]
    assert not (tmp_path / nights.JUNIT).exists()
    (campaign / summaries.JUNIT_NAME).write_text("<testsuites/>")
    second = entry([run(INVALID), CAUGHT])
    assert nights.remember(tmp_path, second, campaign=campaign) == [first, second]
    assert (tmp_path / nights.JUNIT).read_text() == "<testsuites/>"
    with (tmp_path / nights.HISTORY).open("a") as file:
        file.write("{\n")
    with pytest.raises(errors.UsageError, match=r"nights\.jsonl:3: expected a night"):
        nights.read(tmp_path / nights.HISTORY)


def test_the_summary_of_the_last_nights() -> None:
    found = [[run(VALID), CAUGHT], [run(VALID), MISSED], [run(None, error="x")], [run(INVALID)]]
    text = nights.markdown([*map(entry, found)])
    assert "The last 4 nights, oldest first: ok UNKNOWN ERROR INVALID" in text
    assert "python on kind-1.36: 1 double allocations in 1 runs, 0 of them VALID" in text
