"""The pages of hazards: their front matter, and what it refers to."""

import functools
import pathlib
import re

import pytest

from harness import errors
from harness.explore.worlds import world_catalogue
from harness.run.defects import known_defects
from harness.scenario import hazards, loading
from harness.scenario.toml_files import documents
from harness.subject import remedies
from tests.support import cases
from tools import finding_pictures, findings_index


def test_every_numbered_file_is_a_page_whose_name_begins_with_its_id() -> None:
    names = [path.name for path in documents.shipped_folder(hazards.FOLDER).glob("H[0-9]*.md")]
    pages = {page.path.name: page.hazard.id for page in hazards.pages().values()}
    assert {name: f"H{int(name[1:3])}" for name in names}.items() <= pages.items()


def test_worlds_remedies_and_defects_of_pages_exist() -> None:
    for page in hazards.pages().values():
        known_defects.require_known(page.hazard.defects)
        remedies.CATALOGUE.chosen([page.hazard.remedy] if page.hazard.remedy else [])
    assert {world for world, _ in hazards.of_worlds()} <= set(world_catalogue.WORLDS)


def test_every_scenario_that_is_known_to_fail_has_a_page() -> None:
    causes = {loading.load(name).scenario.known_to_fail for name in loading.every_name()} - {""}
    assert [cause for cause in causes if hazards.find(cause) is None] == []


def test_the_correct_subject_fails_by_a_hazard_unless_that_is_a_known_defect() -> None:
    assert hazards.fails_correct_subject("H1")
    assert hazards.fails_correct_subject("mine")
    assert not hazards.fails_correct_subject("H21")
    assert not hazards.fails_correct_subject("H22")
    assert not hazards.fails_correct_subject("")


PAGES = hazards.pages()


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole(name: str) -> None:
    hazard = PAGES[name].hazard
    parts = re.split(r"^## (.+)$", PAGES[name].path.read_text(), flags=re.MULTILINE)
    assert tuple(parts[1::2]) == findings_index.SECTIONS
    assert all(text.strip() for text in parts[2::2])
    assert hazard.kinds
    assert hazard.parts or hazard.status.startswith("refuted")
    assert bool(hazard.steps) != hazard.status.startswith("refuted")
    assert hazard.since_release or hazard.status.startswith("refuted") or hazard.parts == ["driver"]
    for trial in hazard.programs:
        assert 0 <= trial.shown <= trial.runs
        assert re.fullmatch(r"kube-[a-z-]+ \d+\.\d+\.\d+", trial.program)
        assert trial.server == "embedded" or trial.server.startswith("kube-apiserver 1.")
    steps = list(finding_pictures.parsed(hazard.steps))
    ends = [step.sender == finding_pictures.EFFECT for step in steps]
    assert ends == [number == len(steps) for number in range(1, len(steps) + 1)]
    sent = [step.number for step in steps if step.how.isdigit() and step.sender]
    assert sorted(sent) == sorted(step.number for step in steps if not step.sender)


def test_what_was_shown_by_a_scenario_or_script_names_one_that_is_there() -> None:
    shown_by = {trial.how for page in PAGES.values() for trial in page.hazard.programs}
    names = {how for how in shown_by if " " not in how}
    assert names <= {*loading.every_name(), *loading.SHELF.names(loading.CONFIRM)}
    assert "answer-lost" in names


def test_every_script_shows_a_hazard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "load", functools.cache(loading.load))
    shown = [name for page in PAGES.values() for name in hazards.scripts(page.hazard)]
    assert sorted(shown) == loading.SHELF.names(loading.CONFIRM)


@pytest.mark.parametrize(
    ("line", "message"),
    cases.read(__file__, "no_steps"),
)
def test_steps_that_are_none(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(finding_pictures.parsed([line]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("severity: high", "colour: red", "unknown field `colour`"),
        ("[kube-scheduler]", "[kubectl]", "Invalid enum value 'kubectl'"),
    ],
)
def test_front_matter_that_is_not_right(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.setattr(documents, "shipped_folder", lambda _: tmp_path)
    (tmp_path / "H99-new.md").write_text(PAGES["H1"].path.read_text().replace(old, new))
    with pytest.raises(errors.ScenarioError, match=message) as failure:
        hazards.pages.__wrapped__()
    assert "H99-new.md: expected the keys of a hazard" in str(failure.value)
