"""The pages of hazards: their front matter, and what it refers to."""

import pathlib

import pytest

from harness import errors
from harness.explore.worlds import world_catalogue
from harness.run.defects import known_defects
from harness.scenario import hazards, loading
from harness.scenario.toml_files import documents
from harness.subject import remedies

NAME = "H99-new"
FRONT_MATTER = """---
id: H99
title: A new one
kinds: [leak]
issues: []
worlds: []
seen: []
since: 2026-11-26
status: open
---
# H99: a new one
"""


def test_every_numbered_file_is_a_page_whose_name_begins_with_its_id() -> None:
    names = [path.name for path in documents.shipped_folder(hazards.FOLDER).glob("H[0-9]*.md")]
    pages = {page.path.name: page.hazard.id for page in hazards.pages().values()}
    assert {name: f"H{int(name[1:3])}" for name in names}.items() <= pages.items()


def test_worlds_remedies_and_defects_of_pages_exist() -> None:
    for page in hazards.pages().values():
        known_defects.require_known(page.hazard.defects)
        remedies.CATALOGUE.require_known([page.hazard.remedy] if page.hazard.remedy else [])
    assert {world for world, _ in hazards.of_worlds()} <= set(world_catalogue.WORLDS)


def test_every_scenario_that_is_known_to_fail_has_a_page() -> None:
    causes = {loading.load(name).scenario.known_to_fail for name in loading.every_name()} - {""}
    assert [cause for cause in causes if hazards.find(cause) is None] == []


def test_scenarios_of_a_hazard() -> None:
    assert hazards.scenarios(hazards.pages()["H3"].hazard) == ["failover", "stale-list"]
    uncoordinated = hazards.pages()["kubernetes#128980"].hazard
    assert hazards.scenarios(uncoordinated) == ["two-schedulers", "two-schedulers-one-name"]


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(documents, "shipped_folder", lambda _: tmp_path)
    return tmp_path


def test_a_page_is_read_and_other_files_are_left_out(folder: pathlib.Path) -> None:
    (folder / f"{NAME}.md").write_text(FRONT_MATTER)
    (folder / "README.md").write_text("# Findings\n---\n")
    (page,) = hazards.pages.__wrapped__().values()
    assert (page.hazard.title, page.hazard.remedy) == ("A new one", None)
    assert page.text == "# H99: a new one"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("status: open", "colour: red", "unknown field `colour`"),
        ("worlds: []", "worlds: 3", r"got `int` - at `\$.worlds`"),
        ("title: A new one\n", "", "missing required field `title`"),
    ],
)
def test_front_matter_that_is_not_right(
    folder: pathlib.Path, old: str, new: str, message: str
) -> None:
    (folder / f"{NAME}.md").write_text(FRONT_MATTER.replace(old, new))
    with pytest.raises(errors.ScenarioError, match=message) as failure:
        hazards.pages.__wrapped__()
    assert f"{NAME}.md: expected the keys of a hazard" in str(failure.value)
