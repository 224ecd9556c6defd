"""Results of `nightly`: junit.xml, summary and exit code."""

import pathlib
import xml.etree.ElementTree as ET

import pytest

from harness.campaign import campaign_documents, nights, results, summaries
from harness.campaign.purposes import Purpose
from harness.checks import verdicts
from harness.cli.campaigns import campaigning, nightly_command

SUITE = '<testsuites><testsuite name="flake-hunt" tests="2"/></testsuites>'


def test_it_leaves_one_junit_and_one_summary(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / summaries.JUNIT_NAME).write_text(SUITE)
    found = [
        results.RunResult(
            scenario="churn",
            subject=subject,
            purpose=purpose,
            seconds=1.0,
            verdict=verdict,
            double_allocations=int(purpose is Purpose.CONTROL),
        )
        for subject, purpose, verdict in (
            ("correct", Purpose.SUBJECT, verdicts.Verdict.VALID),
            ("a-defect", Purpose.CONTROL, verdicts.Verdict.INVALID),
        )
    ]
    document = campaign_documents.CampaignDocument(
        seed=1,
        verdict="VALID",
        exit_code=0,
        summary="",
        directory=str(tmp_path),
        started="",
        command=[],
        cluster="embedded",
        versions={},
        planned=len(found),
        rows=[],
    )
    made = campaigning.CampaignOutcome(results=found, folder=tmp_path, document=document)
    monkeypatch.setattr(campaigning, "make", lambda plan, **options: made)
    summary = tmp_path / "summary.md"
    assert nightly_command.nightly(minutes=0, seed=1, summary=summary, reports=tmp_path) == 0
    assert "1 of 1 positive controls caught" in summary.read_text()
    (suite,) = ET.parse(tmp_path / nights.JUNIT).getroot()
    assert suite.get("tests") == "2"
    assert len(nights.read(tmp_path / nights.HISTORY)) == 1
