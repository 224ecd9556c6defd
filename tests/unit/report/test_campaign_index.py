"""The index of a campaign: a row for each scenario and subject, and links to the runs."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness import rates
from harness.campaign import campaign_documents, campaign_pages
from harness.checks import verdicts
from harness.history import results
from harness.history.purposes import Purpose
from tests.support import page_markup

INVALID, VALID, UNKNOWN = (
    verdicts.Verdict.INVALID,
    verdicts.Verdict.VALID,
    verdicts.Verdict.UNKNOWN,
)


def run(verdict: verdicts.Verdict, reason: str, directory: str, seconds: float) -> Any:
    named = {"scenario": "pod-churn", "subject": "correct", "seconds": seconds}
    return results.RunResult(**named, verdict=verdict, reason=reason, directory=directory)  # type: ignore[arg-type]


def row(rate: rates.Rate, **fields: Any) -> results.Row:
    low, high = rate.interval
    known = {"invalid": rate.failed, "conclusive": rate.runs, "low": low, "high": high}
    return results.Row(**{"hypothesis": "", **known, **fields})


RUNS = [
    run(VALID, "fine", "FOLDER/run-1", 1.25),
    run(UNKNOWN, "it died", "s3://elsewhere/run-2", 0.5),
]
ROWS = [
    row(
        rates.Rate(0, 1),
        purpose=Purpose.SUBJECT,
        scenario="pod-churn",
        subject="correct",
        is_as_expected=True,
        verdict=VALID,
        caught=0,
        claims=40,
        double_allocations=0,
        stuck=0,
        seconds=1.75,
        runs=RUNS,
    ),
    row(
        rates.Rate(3, 4),
        purpose=Purpose.HAZARD,
        hypothesis="H1",
        scenario="<script>alert(1)</script>",
        subject='"><img src=x>',
        is_as_expected=False,
        verdict=INVALID,
        caught=3,
        claims=50,
        double_allocations=7,
        stuck=5,
        seconds=2.0,
        runs=[run(INVALID, "<b>&", 'FOLDER/a"b', 2)],
    ),
]


def _page(path: pathlib.Path) -> page_markup.Page:
    file = path / "index.html"
    rows = [
        msgspec.structs.replace(
            one,
            runs=[
                msgspec.structs.replace(made, directory=made.directory.replace("FOLDER", str(path)))
                for made in one.runs
            ],
        )
        for one in ROWS
    ]
    document = campaign_documents.CampaignDocument(
        seed=42,
        verdict=INVALID,
        exit_code=10,
        summary="2 rows <i>",
        directory="",
        started="2026-01-31T23:59:59Z",
        command=["hunt", "pod-churn", "--seed", "42"],
        cluster="kind-1.36",
        versions={},
        planned=3,
        rows=rows,
    )
    file.write_text(campaign_pages.page(document, path, verdict=INVALID), encoding="utf-8")
    return page_markup.read(file.read_text(encoding="utf-8"))


def test_rows_and_runs_are_shown(tmp_path: pathlib.Path) -> None:
    page = _page(tmp_path)
    for text in ("pod-churn", "correct", "✓ yes", "✗ no", "42", "50", "7", "1.8", "it died"):
        assert any(text in found for found in page.texts), text
    assert ": 2 rows <i>" in page.text
    assert ("header", "class", "banner INVALID") in page.attributes
    assert page.texts.index("Not as expected") < page.texts.index("Scenarios and subjects")
    for text in ("kind-1.36", "2026-01-31T23:59:59Z", "flake-hunt hunt pod-churn --seed 42"):
        assert text in page.texts
    for text in ("0 of 1", "0–98 %", "3 of 4", "19–99.4 %"):
        assert text in page.texts
    for heading in ("tested subject", "known upstream hazards"):
        assert page.texts.count(heading) == 1
    assert "<script>alert(1)</script>" in page.texts
    assert any("(H1)" in text for text in page.texts)


def test_links_are_relative_and_only_to_runs_with_a_report(tmp_path: pathlib.Path) -> None:
    links = [value for tag, name, value in _page(tmp_path).attributes if name in ("href", "src")]
    own = [link for link in links if not link.startswith("#row-")]
    assert own == ["run-1/report.html", "a%22b/report.html"] * 2
    assert [link for link in links if link.startswith("#row-")] == [
        "#row-2",
        "#row-1",
        "#row-2",
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"purpose": Purpose.CONTROL},
            "not found in 2 runs; the last one was UNKNOWN: it died",
        ),
        ({"verdict": VALID}, "VALID: fine"),
        ({"verdict": UNKNOWN, "runs": RUNS[1:] * 2}, "UNKNOWN: it died; so is one more"),
        ({"verdict": UNKNOWN, "runs": RUNS[1:] * 3}, "UNKNOWN: it died; so are 2 more"),
        ({"runs": []}, "it has no runs"),
    ],
)
def test_why_a_row_is_not_as_expected(change: dict[str, Any], expected: str) -> None:
    assert campaign_pages.unexpected(msgspec.structs.replace(ROWS[0], **change)) == expected
