"""The table of reports that are left out names defects that are there."""

import pathlib
import re

from harness.run.defects import defect_records

FOLDER = pathlib.Path(__file__).parents[3] / "docs" / "findings"
TABLE = (FOLDER / "left-out.md").read_text()


def _is_in(text: str, report: str) -> bool:
    return re.search(rf"{re.escape(report)}\b", text) is not None


DEFECTS = {
    item.name: " ".join([*item.issues, item.description]) for item in defect_records.listed()
}
"""Issues and description of each known defect, by its name."""


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
