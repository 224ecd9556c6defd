"""The list of known defects is complete, and says of each what shows it."""

import re

import msgspec

from harness.checks import check_registry
from harness.explore.worlds import world_catalogue
from harness.history import results
from harness.history.purposes import Purpose
from harness.run.defects import defect_records, known_defects
from tests.support.called_commands import FlakeHunt
from tools import track_record

LISTED = {row.name: row for row in defect_records.listed()}
FACTS = known_defects.facts()
BY_RULE = {name for name, facts in FACTS.items() if facts.rule}
LETTERS = {check.name: check.guarantee for check in check_registry.CHECKS}


def test_a_defect_has_a_scenario_or_a_world_that_shows_it() -> None:
    for name, row in LISTED.items():
        assert bool(row.scenarios or row.worlds) is (name not in BY_RULE), name
        assert row.guarantee == LETTERS[row.check], name
        assert row.description, name


def test_the_worlds_are_there_and_the_correct_subject_is_well_in_them() -> None:
    for name, facts in FACTS.items():
        hazards = [world_catalogue.WORLDS[world].hazard for world in facts.worlds]
        assert hazards == [None] * len(facts.worlds), name


def test_what_was_shipped_has_an_issue_and_what_was_not_has_none() -> None:
    for name, facts in FACTS.items():
        assert bool(facts.issues) == bool(facts.releases), name
        for issue in facts.issues:
            assert re.fullmatch(r"[\w-]+#\d+", issue), name


def test_the_releases_of_some_defects() -> None:
    first, both = ["1.34.2"], ["1.34.2", "1.36.2"]
    table = {
        "assume-cache-shared-drain": first,
        "gather-not-atomic": first,
        "shares-not-gathered": first,
        "extended-claim-kept": first,
        "all-with-counters": [],
        "counters-by-pool-name": ["1.36.2"],
        "counters-not-given-back": both,
        "distinct-by-request": both,
        "controller-finished-pods-synced": both,
        "unreserve-restores-written-claim": [],
        "pod-status-ignored": [],
        "in-flight-removed-first": [],
    }
    assert {name: LISTED[name].as_releases for name in table} == table


def test_every_defect_was_found_where_it_is_said_to_show() -> None:
    for row in LISTED.values():
        measured = {item.place: item for item in row.detections if item.kind != "random"}
        assert set(measured) == {*row.scenarios, *row.worlds}, row.name
        assert all(measured[world].found == measured[world].attempts for world in row.worlds)
        assert any(item.found for item in row.detections) is (row.name not in BY_RULE)
        assert row.command.split()[1] in measured or row.name in BY_RULE


def test_many_attempts_with_a_miss_are_more_reliable_than_one() -> None:
    made = [
        control("watch-lag", seconds=1.0, double_allocations=1),
        *(control("pod-churn", seconds=4.0, double_allocations=1) for _ in range(19)),
        control("pod-churn", seconds=9.0, double_allocations=0),
        *(control("shared-claims", seconds=2.0, double_allocations=1) for _ in range(10)),
        *(control("shared-claims", seconds=9.0, double_allocations=0) for _ in range(10)),
    ]
    found = defect_records.best(track_record.controls(made)["gather-not-atomic"])
    assert found is not None
    assert (found.place, found.found, found.attempts) == ("pod-churn", 19, 20)


def control(scenario: str, *, seconds: float, double_allocations: int) -> results.RunResult:
    return results.RunResult(
        scenario=scenario,
        subject="gather-not-atomic",
        purpose=Purpose.CONTROL,
        seconds=seconds,
        double_allocations=double_allocations,
    )


def test_the_command_prints_every_defect_as_a_table_and_as_json(flake_hunt: FlakeHunt) -> None:
    table = flake_hunt("defects")[1]
    assert all(name in table for name in LISTED)
    assert f"\n{len(LISTED)} known defects.\n" in table
    document = msgspec.json.decode(flake_hunt("defects", "--output", "json")[1])
    assert [row["name"] for row in document["defects"]] == list(LISTED)
    [row] = [row for row in document["defects"] if row["name"] == "assume-cache-shared-drain"]
    assert row["guarantee"] == "X"
    assert row["check"] == "device_exclusivity"
    assert row["issues"] == ["kubernetes#136269"]
    assert "pod-churn" in row["scenarios"]
