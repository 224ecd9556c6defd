"""A finding shows a run of it, moment by moment, that was INVALID."""

import pathlib
import re
import xml.etree.ElementTree as ElementTree

import pytest

from harness import errors
from harness.scenario import hazards
from tests.histories import building
from tests.support import real_runs
from tools import finding_runs

PAGES = [page for page in hazards.pages().values() if finding_runs.MARK in page.path.read_text()]


def test_the_runs_of_the_pages_are_whole_and_tell_nothing_of_their_machine() -> None:
    assert len(PAGES) > 25
    pictures = set(finding_runs.PICTURES.glob("*.svg"))
    for page in PAGES:
        text = page.path.read_text("utf-8")
        _, _, run = text.partition(finding_runs.MARK)
        assert "**INVALID**: " in run.partition(finding_runs.END)[0]
        assert not re.search(r"[\s=(]/(home|root|tmp|work|mnt|Users)/", text)
    names = {f"{page.path.stem}.svg" for page in PAGES}
    assert {path.name for path in pictures} <= names
    for picture in pictures:
        drawn = picture.read_text("utf-8")
        assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
        assert not re.search(r"<script|@import|href=|url\((?!#hatch)", drawn)


@pytest.fixture
def pages(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Copies of the pages of H1 and H10."""
    found = {}
    for name in ("H1", "H10"):
        page = hazards.pages()[name]
        path = tmp_path / name
        path.write_text(page.path.read_text("utf-8"), "utf-8")
        found[name] = hazards.Page(hazard=page.hazard, path=path, text=page.text)
    monkeypatch.setattr(hazards, "pages", lambda: found)
    monkeypatch.setattr(finding_runs, "PICTURES", tmp_path / "runs")
    return tmp_path


@pytest.mark.parametrize(
    ("run", "page", "said"),
    [
        ("embedded-answer-lost-1.36.3", "H1", "the device is held by: **claims A and B**"),
        ("local-h10-reservation-taken-back", "H10", "claim-1 is no longer reserved for pod-1"),
    ],
)
def test_a_run_replaces_that_of_its_page(
    pages: pathlib.Path, tmp_path: pathlib.Path, run: str, page: str, said: str
) -> None:
    finding_runs.show(real_runs.unpack(run, tmp_path / "unpacked").path)
    text = (pages / page).read_text("utf-8")
    assert text.count(finding_runs.MARK) == 1
    assert said in text
    assert (pages / "runs" / f"{page}.svg").is_file() == (page == "H1")


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("a+D1 a^p p* a-D1 b+D1 b^q q*", "H1", "expected a run that is INVALID"),
        ("a+D1 b+D1", "", "expected a run of a finding"),
        ("a+D1 b+D1", "H99", "expected a run of a finding"),
    ],
)
def test_other_runs_are_refused(
    pages: pathlib.Path, tmp_path: pathlib.Path, text: str, wanted: str, expected: str
) -> None:
    directory = building.build(tmp_path / "run", text)
    with pytest.raises(errors.HarnessError, match=expected):
        finding_runs.show(directory.path, wanted)
    assert not (pages / "runs").exists()
