"""Each reported bug is a known defect, has a page, or is in the table of what is left out."""

import pathlib
import re

import pytest

from harness.run.defects import defect_records
from harness.scenario import hazards

FOLDER = pathlib.Path(__file__).parents[3] / "docs" / "findings"
TABLE = (FOLDER / "left-out.md").read_text()
REPORTS = pathlib.Path(__file__).with_name("reported_bugs.txt").read_text().split()
"""The reports of 2025 and 2026 that are known, of an issue and its pull request one."""


def _is_in(text: str, report: str) -> bool:
    return re.search(rf"{re.escape(report)}\b", text) is not None


DEFECTS = {
    item.name: " ".join([*item.issues, item.description]) for item in defect_records.listed()
}
"""Issues and description of each known defect, by its name."""


@pytest.mark.parametrize("report", REPORTS)
def test_no_report_is_forgotten(report: str) -> None:
    pages = [page.path.read_text() for page in hazards.pages().values()]
    assert any(_is_in(text, report) for text in [TABLE, *pages, *DEFECTS.values()])


def test_what_is_left_out_is_no_known_defect() -> None:
    rows = re.findall(r"^\| (.+?) \|", TABLE, flags=re.MULTILINE)[2:]
    named = [name for row in rows for name in re.findall(r"[\w-]+#\d+", row)]
    defects = {name: text for name, text in DEFECTS.items() if any(_is_in(text, n) for n in named)}
    assert rows
    assert not defects


def test_the_table_names_defects_that_are_there() -> None:
    named = re.findall(r"defect `([\w-]+)`", TABLE)
    assert named
    assert set(named) <= DEFECTS.keys()
