"""The gallery: its pages follow from the findings, and each shows a run that was INVALID."""

import functools
import pathlib
import re
import xml.etree.ElementTree as ElementTree

import pytest

from harness import errors
from harness.scenario import loading
from tests.histories import building
from tests.support import real_runs
from tools import gallery

PAGES = sorted(gallery.FOLDER.glob("*.md"))
RUN_PAGES = [path for path in PAGES if path.name != "README.md"]
_LINK = re.compile(r"\]\(([^)#\s]+)\)")


def test_the_pages_are_in_step_with_the_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page looks for its scenarios: they are loaded once."""
    monkeypatch.setattr(loading, "load", functools.cache(loading.load))
    there = {path: path.read_text("utf-8") for path in PAGES}
    assert there == gallery.pages(), "python -m tools.gallery writes them"


@pytest.mark.parametrize("path", RUN_PAGES, ids=lambda path: path.stem)
def test_a_page_shows_a_run_that_was_invalid_or_says_why_none(path: pathlib.Path) -> None:
    _, _, run = path.read_text("utf-8").partition(gallery.RUN)
    assert run.strip().startswith(("**INVALID**: ", "No run is shown: "))
    assert ("## Moment by moment" in run) or ("flake-hunt run" in run) or "No run" in run


def test_every_picture_is_linked_and_small_and_nothing_is_loaded() -> None:
    links = {
        (path.parent / link).resolve()
        for path in PAGES
        for link in _LINK.findall(path.read_text("utf-8"))
    }
    assert [link for link in links if not link.is_file()] == []
    pictures = set(gallery.PICTURES.glob("*.svg"))
    assert pictures == {link for link in links if link.parent == gallery.PICTURES}
    for picture in pictures:
        text = picture.read_text("utf-8")
        assert len(text) < 20_000
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert not re.search(r"<script|@import|href=|url\((?!#hatch)", text)


def test_nothing_tells_of_the_machine_of_the_run() -> None:
    for path in [*PAGES, *gallery.PICTURES.glob("*.svg")]:
        assert not re.search(r"[\s=(]/(home|root|tmp|work|mnt|Users)/", path.read_text("utf-8"))


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Another gallery, without any run."""
    monkeypatch.setattr(gallery, "FOLDER", tmp_path / "gallery")
    monkeypatch.setattr(gallery, "PICTURES", tmp_path / "gallery" / "pictures")
    return tmp_path / "gallery"


def test_a_run_of_a_double_allocation_is_shown_as_its_report_replays_it(
    folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    gallery.show(real_runs.unpack("embedded-answer-lost-1.36.3", tmp_path).path)
    text = (folder / "H01-lost-answer.md").read_text("utf-8")
    assert "**INVALID**: kube-scheduler v1.36.3" in text
    assert "the device is held by: **claims A and B**" in text
    assert "not the allocation of claim A**" in text
    assert (folder / "pictures" / "H01-lost-answer.svg").is_file()


def test_a_run_of_another_violation_is_shown_by_its_script_and_versions(
    folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    gallery.show(real_runs.unpack("local-h10-reservation-taken-back", tmp_path).path)
    text = (folder / "H10-reservation-taken-back.md").read_text("utf-8")
    assert "claim-1 is no longer reserved for pod-1 (version " in text
    assert "step 1 of the script: " in text
    assert "](pictures/" not in text


def test_names_of_a_run_are_no_markup(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    names = {"a": "<img src=x>|", "b": "[b](http://evil.example)"}
    directory = building.build(tmp_path / "run", "a+D1 b+D1", names=names)
    gallery.show(directory.path, "H1")
    text = (folder / "H01-lost-answer.md").read_text("utf-8")
    assert "<img" not in text.replace("\\<", "")
    assert "](http:" not in text


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("a+D1 a^p p* a-D1 b+D1 b^q q*", "H1", "expected a run that is INVALID"),
        ("a+D1 b+D1", "", "expected a run of a finding"),
        ("a+D1 b+D1", "H99", "expected a run of a finding"),
    ],
)
def test_other_runs_are_refused(
    folder: pathlib.Path, tmp_path: pathlib.Path, text: str, wanted: str, expected: str
) -> None:
    directory = building.build(tmp_path / "run", text)
    with pytest.raises(errors.HarnessError, match=expected):
        gallery.show(directory.path, wanted)
    assert not folder.exists()
