"""Shards are merged: each planned run counts once, and nothing is missing without a name."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.campaign import results
from harness.campaign.purposes import Purpose
from harness.campaign.sharding import merging, shard_reading, sharded_plans
from tests.support import shards
from tests.support.shards import INVALID, UNKNOWN, VALID

PLAN = shards.plan(subjects=5, controls=2, shards=3)
RUNS = {run.number: run for run in PLAN.runs}
CONTROL = next(run for run in PLAN.runs if run.purpose is Purpose.CONTROL)


def shard(
    number: int | None, content: bytes | None = None, *, folder: str = ""
) -> merging.ReadShard:
    runs = PLAN.runs_of(number)
    if content is None:
        content = shards.lines(shards.result(run) for run in runs)
    return merging.ReadShard(
        folder=folder or f"s{number}",
        number=number,
        started="2026-01-01T00:00:00Z",
        versions={},
        jobs=1,
        found=shard_reading.read(content, {run.number: run for run in runs}),
    )


def merged(*given: merging.ReadShard) -> merging.Merged:
    made = merging.merge(PLAN, given)
    numbers = {result.number for result in made.results}
    assert numbers == set(RUNS), "every planned run is there"
    return made


def code(made: merging.Merged) -> int:
    return results.exit_code(results.rows(made.results), len(PLAN.runs))


def test_all_shards_are_one_campaign() -> None:
    made = merged(shard(3), shard(1), shard(2))
    assert made.results == [shards.result(run) for run in PLAN.runs], "in the order of the plan"
    assert (made.missing, made.doubled, made.missing_shards, code(made)) == ([], [], [], 0)
    assert merged(shard(None)).results == made.results, "a campaign of the whole plan is one, too"


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_missing_shard_is_unknown_by_name(lost: int) -> None:
    made = merged(*(shard(number) for number in (1, 2, 3) if number != lost))
    assert made.missing_shards == [lost]
    assert [item.number for item in made.missing] == [run.number for run in PLAN.runs_of(lost)]
    assert {item.reason for item in made.missing} == {
        f"shard {lost} of 3 is missing: none of the folders has it"
    }
    assert code(made) == 20


@pytest.mark.parametrize("cut", [1, 30])
def test_a_cut_result_is_unknown_by_name(cut: int) -> None:
    content = shards.lines(shards.result(run) for run in PLAN.runs_of(2))
    made = merged(shard(1), shard(2, content[:-cut]), shard(3))
    (missing,) = made.missing
    assert missing.number == PLAN.runs_of(2)[-1].number
    assert missing.reason == (
        "shard 2 of 3 has no result of this run: results.jsonl:2: the line is cut (s2)"
    )
    assert code(made) == 20


def test_any_cut_of_all_results_leaves_unknown_or_everything() -> None:
    whole = shards.lines(shards.result(run) for run in PLAN.runs)
    for end in range(0, len(whole), 7):
        made = merged(shard(None, whole[:end]))
        assert code(made) == 20
        assert made.missing
    assert code(merged(shard(None, whole))) == 0


def test_a_shard_under_way_is_unknown_by_name() -> None:
    made = merged(shard(1), shard(2, b""), shard(3))
    assert {item.reason for item in made.missing} == {
        "shard 2 of 3 has no result of this run: it was interrupted, or is under way (s2)"
    }
    assert made.missing_shards == []


def test_a_control_whose_attempts_are_not_all_there_is_unknown() -> None:
    """Two attempts missed it, and the third one was due."""
    others = [shards.result(run) for run in PLAN.runs if run != CONTROL]
    for attempts in (shards.missed(CONTROL, 2), shards.missed(CONTROL, 3)[1:]):
        made = merged(shard(None, shards.lines([*others, *attempts])))
        assert [item.number for item in made.missing] == [CONTROL.number]
        assert code(made) == 20


def test_a_control_that_a_later_attempt_caught_is_caught() -> None:
    others = [shards.result(run) for run in PLAN.runs if run != CONTROL]
    late = [*shards.missed(CONTROL, 1), shards.result(CONTROL, attempt=1)]
    made = merged(shard(None, shards.lines([*others, *late])))
    assert code(made) == 0
    assert [result.attempt for result in made.results if result.number == CONTROL.number] == [0, 1]


def doubled(run: sharded_plans.ShardedRun, first: Any, second: Any) -> merging.Merged:
    others = [shards.result(item) for item in PLAN.runs if item != run]
    one = shard(None, shards.lines([*others, *first]), folder="one")
    return merged(one, shard(run.shard, shards.lines(second), folder="two"))


SUBJECT = PLAN.runs[0]
OUTCOMES = {
    "violated": ([shards.violated(SUBJECT)], 10),
    "unknown": ([shards.result(SUBJECT, verdict=UNKNOWN)], 20),
    "valid": ([shards.result(SUBJECT)], 0),
    "error": ([shards.result(SUBJECT, verdict=None, error="no engine")], 1),
}


@pytest.mark.parametrize("first", OUTCOMES)
@pytest.mark.parametrize("second", OUTCOMES)
def test_of_a_doubled_run_the_worse_result_counts_and_the_other_is_kept(
    first: str, second: str
) -> None:
    """An error says nothing about the subject, so that a second start heals it."""
    made = doubled(SUBJECT, OUTCOMES[first][0], OUTCOMES[second][0])
    worse = next(name for name in OUTCOMES if name in (first, second))
    assert code(made) == OUTCOMES[worse][1]
    (item,) = made.doubled
    assert (item.run, {item.counted, item.folder}) == (SUBJECT.id, {"one", "two"})
    counted = [result for result in made.results if result.number == SUBJECT.number]
    both = [*OUTCOMES[first][0], *OUTCOMES[second][0]]
    assert sorted(map(repr, [*counted, *item.results])) == sorted(map(repr, both)), (
        "nothing is lost"
    )


def test_of_a_doubled_control_a_miss_counts() -> None:
    caught, missed = [shards.result(CONTROL)], shards.missed(CONTROL)
    controls = [run for run in PLAN.runs if run.purpose is Purpose.CONTROL]
    assert len(controls) == 2
    for first, second in ((caught, missed), (missed, caught)):
        made = doubled(CONTROL, first, second)
        assert [r for r in made.results if r.number == CONTROL.number] == missed
        assert code(made) == 0, "the other run of this control caught it"


def test_a_run_that_one_folder_has_twice_is_doubled() -> None:
    found = [shards.result(run) for run in PLAN.runs]
    made = merged(shard(None, shards.lines([*found, shards.violated(SUBJECT)])))
    assert code(made) == 10
    assert [(item.counted, item.folder) for item in made.doubled] == [("sNone", "sNone")]


@pytest.mark.parametrize(
    "change",
    [
        {"number": 99},
        {"number": 0},
        {"number": RUNS[2].number},
        {"scenario": "other"},
        {"subject": "other"},
        {"purpose": Purpose.REMEDY},
        {"hypothesis": "H1"},
    ],
    ids=str,
)
def test_a_result_of_no_planned_run_is_none(change: dict[str, Any]) -> None:
    """Otherwise a shard of another plan, or an edited one, could stand for a missing run."""
    strange = shards.result(CONTROL, **change)
    others = [shards.result(run) for run in PLAN.runs if run != CONTROL]
    made = shard(None, shards.lines([*others, strange]))
    assert len(made.found.problems) == 1
    assert "expected a run of this plan" in made.found.problems[0]
    assert [item.number for item in merged(made).missing] == [CONTROL.number]


@pytest.mark.parametrize(
    "line", [b"{}\n", b"\n", b"[" * 5000 + b"\n", b"\xff\n", b'{"number": 1}\n']
)
def test_a_damaged_line_is_a_problem_and_the_others_count(line: bytes) -> None:
    content = shards.lines(shards.result(run) for run in PLAN.runs)
    made = shard(None, line + content)
    assert len(made.found.problems) == 1
    assert made.found.problems[0].startswith("results.jsonl:1: ")
    assert code(merged(made)) == 0


def test_a_verdict_that_no_result_can_have_is_damage() -> None:
    content = shards.lines(shards.result(run) for run in PLAN.runs).replace(
        b'"VALID"', b'"FINE"', 1
    )
    made = shard(None, content)
    assert "FINE" in made.found.problems[0]
    assert code(merged(made)) == 20


def test_missing_runs_are_no_evidence(tmp_path: pathlib.Path) -> None:
    del tmp_path
    made = merged(shard(1))
    unknown = [result for result in made.results if result.missing]
    assert {result.verdict for result in unknown} == {UNKNOWN}
    assert {(result.claims, result.directory) for result in unknown} == {(0, "")}
    assert not any(result.is_found or result.is_missed for result in unknown)
    assert VALID not in {result.verdict for result in unknown}
    assert INVALID not in {result.verdict for result in unknown}
    assert msgspec.structs.replace(unknown[0], missing=False) != unknown[0]
