"""The list of known defects is complete, and says of each what shows it."""

import pathlib
import re
import subprocess

import msgspec
import pytest

from harness import processes
from harness.catalogue import defect_facts, guarantees, known
from harness.checks import check_registry
from harness.explore.worlds import world_catalogue
from harness.run import known_defects

README = pathlib.Path(__file__).parents[3] / "README.md"
LISTED = {row.name: row for row in known.listed()}


def test_there_are_facts_about_every_defect_and_no_other() -> None:
    assert set(known.FACTS) == set(known_defects.names()) == set(LISTED)


def test_the_letters_are_those_of_the_readme() -> None:
    rows = re.findall(r"^\| ([XCNRGPL]) \| [^|]+ \| ([^|]+) \|$", README.read_text(), re.MULTILINE)
    named = {check: letter for letter, cell in rows for check in re.findall(r"`(\w+)`", cell)}
    assert named == guarantees.LETTERS
    assert set(guarantees.LETTERS) == {check.name for check in check_registry.CHECKS}


@pytest.mark.parametrize("name", LISTED)
def test_a_defect_has_a_scenario_or_a_world_that_shows_it(name: str) -> None:
    row = LISTED[name]
    assert row.scenarios or row.worlds
    assert row.guarantee == guarantees.LETTERS[row.check]
    assert row.description


@pytest.mark.parametrize("facts", known.FACTS.values(), ids=list(known.FACTS))
def test_the_worlds_are_there_and_the_correct_subject_is_well_in_them(
    facts: defect_facts.DefectFacts,
) -> None:
    hazards = [world_catalogue.WORLDS[name].hazard for name in facts.worlds]
    assert hazards == [None] * len(facts.worlds)


@pytest.mark.parametrize("facts", known.FACTS.values(), ids=list(known.FACTS))
def test_what_was_shipped_has_an_issue_and_what_was_not_has_none(
    facts: defect_facts.DefectFacts,
) -> None:
    assert bool(facts.issues) == (facts.releases != defect_facts.MUTANT)
    for issue in facts.issues:
        assert re.fullmatch(r"[\w-]+#\d+", issue)


def test_the_parts_come_one_after_the_other() -> None:
    parts = [row.part for row in LISTED.values()]
    assert list(dict.fromkeys(parts)) == ["scheduler", "claim-controller", "kubelet", "driver"]
    assert sorted(parts, key=list(dict.fromkeys(parts)).index) == parts


def command(*options: str) -> str:
    done = subprocess.run(
        processes.command("defects", *options),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_the_command_prints_every_defect_as_a_table_and_as_json() -> None:
    table = command()
    assert all(name in table for name in LISTED)
    assert table.endswith(f"{len(LISTED)} known defects.\n")
    document = msgspec.json.decode(command("--json"))
    assert [row["name"] for row in document["defects"]] == list(LISTED)
    [row] = [row for row in document["defects"] if row["name"] == "assume-cache-shared-drain"]
    assert row["guarantee"] == "X"
    assert row["check"] == "device_exclusivity"
    assert row["issues"] == ["kubernetes#136269"]
    assert "pod-churn" in row["scenarios"]
