"""The index of a campaign: a row for each scenario and subject, and links to the runs."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.campaign import campaign_documents, campaign_pages
from harness.checks import verdicts
from harness.history import results
from tests.support import cases, page_markup

ROWS = cases.read(__file__, "rows")
INVALID = verdicts.Verdict.INVALID


def _page(path: pathlib.Path) -> page_markup.Page:
    rows = msgspec.json.encode(ROWS).replace(b"FOLDER", str(path).encode())
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
        rows=msgspec.json.decode(rows, type=list[results.Row]),
    )
    return page_markup.read(campaign_pages.page(document, path, verdict=INVALID))


def test_rows_and_runs_are_shown(tmp_path: pathlib.Path) -> None:
    page = _page(tmp_path)
    for text in cases.read(__file__, "shown"):
        assert any(text in found for found in page.texts), text
    assert ": 2 rows <i>" in page.text
    assert ("header", "class", "banner INVALID") in page.attributes
    assert page.texts.index("Not as expected") < page.texts.index("Scenarios and subjects")
    for heading in ("tested subject", "known upstream hazards"):
        assert page.texts.count(heading) == 1


def test_links_are_relative_and_only_to_runs_with_a_report(tmp_path: pathlib.Path) -> None:
    links = [value for tag, name, value in _page(tmp_path).attributes if name in ("href", "src")]
    own = [link for link in links if not link.startswith("#row-")]
    assert own == ["run-1/report.html", "a%22b/report.html"] * 2
    assert [link for link in links if link.startswith("#row-")] == ["#row-2", "#row-1", "#row-2"]


@pytest.mark.parametrize(("change", "expected"), cases.read(__file__, "why"))
def test_why_a_row_is_not_as_expected(change: dict[str, Any], expected: str) -> None:
    row = {**ROWS[0], **change}
    row["runs"] = row["runs"][1:] * row.pop("unknown_runs", 0) or row["runs"]
    assert campaign_pages.unexpected(msgspec.convert(row, results.Row)) == expected
