"""The index of a campaign: a row for each scenario and subject, and links to the runs."""

import pathlib

import pytest

from harness.checks import verdicts
from harness.report import campaign_index
from tests.unit.report import pages

RUNS = [
    campaign_index.IndexedRun(
        verdict="VALID", reason="fine", link="run-1/report.html", seconds=1.25
    ),
    campaign_index.IndexedRun(verdict="UNKNOWN", reason="it died", link="", seconds=0.5),
]
ROWS = [
    campaign_index.IndexRow(
        purpose="correct subject",
        scenario="pod-churn",
        hypothesis="",
        subject="correct",
        is_as_expected=True,
        verdict="VALID",
        caught=None,
        claims=40,
        double_allocations=0,
        stuck=0,
        seconds=1.75,
        runs=RUNS,
    ),
    campaign_index.IndexRow(
        purpose="known upstream hazards",
        hypothesis="H1",
        scenario="<script>alert(1)</script>",
        subject='"><img src=x>',
        is_as_expected=False,
        verdict="INVALID",
        caught=3,
        claims=50,
        double_allocations=7,
        stuck=5,
        seconds=2.0,
        runs=[
            campaign_index.IndexedRun(
                verdict="INVALID", reason="<b>&", link='a"b/report.html', seconds=2
            )
        ],
    ),
]


def _page(path: pathlib.Path, **options: object) -> pages.Page:
    file = path / "index.html"
    verdict = options.get("verdict", verdicts.Verdict.INVALID)
    assert isinstance(verdict, verdicts.Verdict)
    campaign_index.render(file, ROWS, verdict=verdict, seed=42, summary="2 rows <i>")
    return pages.read(file.read_text(encoding="utf-8"))


def test_rows_and_runs_are_shown(tmp_path: pathlib.Path) -> None:
    page = _page(tmp_path)
    for text in ("pod-churn", "correct", "✓ yes", "✗ no", "42", "50", "7", "1.8", "it died"):
        assert any(text in found for found in page.texts), text
    assert ": 2 rows <i>" in page.text
    for heading in ("correct subject", "known upstream hazards"):
        assert page.texts.count(heading) == 1
    assert "<script>alert(1)</script> (H1)" in page.text


def test_links_are_relative_and_only_to_runs_with_a_report(tmp_path: pathlib.Path) -> None:
    links = [value for tag, name, value in _page(tmp_path).attributes if name in ("href", "src")]
    assert links == ["run-1/report.html", 'a"b/report.html']


def test_the_index_is_escaped_and_loads_nothing(tmp_path: pathlib.Path) -> None:
    page = _page(tmp_path)
    assert not {"script", "img", "link", "i"} & set(page.tags)
    assert page.tags.count("b") == 1
    assert "<script>alert(1)</script>" in page.text
    assert page.unbalanced == []


@pytest.mark.parametrize("verdict", list(verdicts.Verdict))
def test_every_verdict_has_its_banner(tmp_path: pathlib.Path, verdict: verdicts.Verdict) -> None:
    page = _page(tmp_path, verdict=verdict)
    assert ("header", "class", f"banner {verdict}") in page.attributes
    assert any(text.endswith(f" {verdict}") for text in page.texts)


def test_the_same_rows_give_the_same_bytes(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "index.html"
    _page(tmp_path)
    before = file.read_bytes()
    _page(tmp_path)
    assert file.read_bytes() == before
