"""The rates of INVALID runs over campaigns, on the index."""

import json
import pathlib
from typing import Any

from harness.report import reports_index
from tests.histories import archives
from tests.support import page_markup


def _campaign(reports: pathlib.Path, day: int, *counts: tuple[str, int, int], **row: Any) -> None:
    rows = [
        {"scenario": "s", "subject": subject, "invalid": invalid, "conclusive": runs, **row}
        for subject, invalid, runs in counts
    ]
    document = {"verdict": "VALID", "summary": "", "rows": rows}
    archives.campaign(reports, f"202601{day:02}T000000Z-7", [], planned=1, document=document)


def _page(reports: pathlib.Path) -> page_markup.Page:
    return page_markup.read(reports_index.page(reports))


def _cells(page: page_markup.Page) -> list[list[str]]:
    """The rows of the table of rates."""
    texts = [text.strip() for text in page.texts if text.strip()]
    begin = texts.index("95 %", texts.index("INVALID, all")) + 1
    cells = texts[begin : texts.index("Runs")]
    return [cells[start : start + 7] for start in range(0, len(cells), 7)]


def test_scenarios_and_campaigns_are_added_up_by_subject(tmp_path: pathlib.Path) -> None:
    _campaign(tmp_path, 1, ("correct", 1, 4), ("correct", 1, 6), ("other", 0, 3))
    _campaign(tmp_path, 2, ("correct", 0, 10))
    page = _page(tmp_path)
    assert _cells(page) == [
        ["correct", "embedded", "2", "0 of 10", "0–31 %", "2 of 20", "1.2–32 %"],
        ["other", "embedded", "1", "0 of 3", "0–71 %", "0 of 3", "0–71 %"],
    ]
    rate = "failed in 2 of 10 runs (95 % confidence: 2.5 % to 56 %)"
    assert f"correct, 2026-01-01T00:00:00Z: {rate}" in page.texts
    assert page.tags.count("circle") == 3
    assert page.unbalanced == []


def test_only_campaigns_about_subjects_count(tmp_path: pathlib.Path) -> None:
    _campaign(tmp_path, 1, ("correct", 0, 0))
    _campaign(tmp_path, 2, ("gather-not-atomic", 3, 3), purpose="control")
    _campaign(tmp_path, 3, ("correct", 3, 3))
    chosen = tmp_path / "campaigns" / "20260103T000000Z-7" / "campaign.json"
    plan = json.loads(chosen.read_text()) | {"failed_in": "20260101T000000Z-7"}
    chosen.write_text(json.dumps(plan))
    assert "INVALID runs over time" not in _page(tmp_path).text
