"""The runs that `--last-failed` makes again."""

import pathlib

import msgspec
import pytest

from harness import errors
from harness.campaign import campaign_plan, failed_runs
from harness.history import campaign_folders, results
from tests.support import shards


def write(
    reports: pathlib.Path,
    found: list[results.RunResult],
    *,
    name: str = "20260101T000000Z-7",
    **changes: object,
) -> pathlib.Path:
    """A campaign with three runs of the subject and two of a control."""
    folder = reports / "campaigns" / name
    folder.mkdir(parents=True)
    plan = shards.campaign(subjects=3, controls=2)
    runs = [
        msgspec.structs.replace(run, tested="" if run.defects else "correct") for run in plan.runs
    ]
    plan = msgspec.structs.replace(plan, runs=runs, **changes)
    campaign_plan.write(folder / campaign_folders.PLAN, plan)
    (folder / campaign_folders.RESULTS).write_bytes(results.encode(found))
    return folder


RUNS = shards.campaign(subjects=3, controls=2).runs
GOOD = [shards.result(run) for run in RUNS]


def seeds_again(reports: pathlib.Path) -> list[int]:
    return [run.seed for run in failed_runs.planned(reports).runs]


@pytest.mark.parametrize(
    ("worse", "expected"),
    [
        ([shards.violated(RUNS[0])], [1001]),
        ([shards.result(RUNS[1], verdict=shards.UNKNOWN)], [1002]),
        ([shards.result(RUNS[2], verdict=None, error="no engine")], [1003]),
        (shards.missed(RUNS[3]), [1004]),
        ([*shards.missed(RUNS[3], 1), shards.result(RUNS[3], attempt=1), *shards.missed(RUNS[4])], [1005]),
        ([shards.violated(RUNS[2]), *shards.missed(RUNS[4])], [1003, 1005]),
    ],
)  # fmt: skip
def test_what_was_not_as_expected_is_made_again_with_its_seed(
    tmp_path: pathlib.Path, worse: list[results.RunResult], expected: list[int]
) -> None:
    numbers = {result.number for result in worse}
    write(tmp_path, [*worse, *(result for result in GOOD if result.number not in numbers)])
    assert seeds_again(tmp_path) == expected


def test_everything_is_made_again_if_nothing_failed(tmp_path: pathlib.Path) -> None:
    """As pytest does. A run that was cut, or not made, has not failed."""
    write(tmp_path, [*GOOD[:3], shards.result(RUNS[3], cut=True, verdict=None)])
    made = failed_runs.planned(tmp_path)
    assert [run.seed for run in made.runs] == [run.seed for run in RUNS]
    assert made.failed_in == ""
    assert made.selection == [
        "nothing failed in 20260101T000000Z-7, so all of it was to be made again"
    ]


def test_what_a_budget_left_without_a_run_is_made_again(tmp_path: pathlib.Path) -> None:
    """Once, and with its budget, whatever number of rounds was planned."""
    write(tmp_path, [*GOOD[:2], shards.result(RUNS[3], cut=True, verdict=None)], minutes=2.0)
    made = failed_runs.planned(tmp_path)
    assert ([run.seed for run in made.runs], made.minutes) == ([1004], 2.0)
    assert "failed or had no run in 20260101T000000Z-7, 1 run, was" in made.selection[0]


def test_all_of_a_budget_is_one_run_of_each_kind(tmp_path: pathlib.Path) -> None:
    write(tmp_path, [GOOD[0], GOOD[3]], minutes=2.0)
    assert seeds_again(tmp_path) == [1001, 1004]


def test_a_failed_run_stays_failed_until_it_is_made_again(tmp_path: pathlib.Path) -> None:
    """After `--last-failed --exit-first`, the next `--last-failed` has those it did not come to."""
    made = [shards.violated(RUNS[0]), shards.result(RUNS[1], cut=True, verdict=None), GOOD[2]]
    write(tmp_path, made, failed_in="20251231T000000Z-7")
    assert seeds_again(tmp_path) == [1001, 1002, 1004, 1005]


def test_the_plan_is_that_of_the_campaign(tmp_path: pathlib.Path) -> None:
    folder = write(
        tmp_path,
        [shards.violated(RUNS[0]), *GOOD[1:]],
        minutes=3.0,
        deadline_ns=5,
        done=[1],
        exit_first=True,
    )
    before = campaign_plan.read(folder / campaign_folders.PLAN)
    made = failed_runs.planned(tmp_path)
    assert (made.seed, made.cluster) == (before.seed, before.cluster)
    assert (made.minutes, made.deadline_ns) == (3.0, None)
    assert (made.done, made.again, made.exit_first) == ([], [], False)
    assert (made.failed_in, made.reports) == (folder.name, str(tmp_path))
    assert [(run.number, run.tested) for run in made.runs] == [(1, "correct")]


def test_the_newest_campaign_counts(tmp_path: pathlib.Path) -> None:
    write(tmp_path, [shards.violated(RUNS[0])], name="20260101T000000Z-7")
    write(tmp_path, [shards.violated(RUNS[1])], name="20260102T000000Z-7")
    (tmp_path / "campaigns" / "20260103T000000Z-7").mkdir()  # has no plan: killed at once
    assert seeds_again(tmp_path) == [1002]


def test_a_last_line_that_was_not_written_whole_is_no_result(tmp_path: pathlib.Path) -> None:
    folder = write(tmp_path, [shards.violated(RUNS[0])])
    with (folder / campaign_folders.RESULTS).open("ab") as file:
        file.write(b'{"scenario": "po')
    assert seeds_again(tmp_path) == [1001]


@pytest.mark.parametrize("name", [campaign_folders.PLAN, campaign_folders.RESULTS])
@pytest.mark.parametrize("content", [b"{\n", b"\xff\n", b"[" * 100_000 + b"\n"])
def test_a_damaged_campaign_is_named(tmp_path: pathlib.Path, name: str, content: bytes) -> None:
    folder = write(tmp_path, GOOD)
    (folder / name).write_bytes(content)
    with pytest.raises(errors.UsageError, match=r"got one that is damaged \(.*: remove"):
        failed_runs.planned(tmp_path)


def test_a_scenario_that_is_gone_is_named(tmp_path: pathlib.Path) -> None:
    folder = write(tmp_path, [shards.violated(RUNS[0])])
    plan = campaign_plan.read(folder / campaign_folders.PLAN)
    runs = [msgspec.structs.replace(run, scenario="/gone/mine.toml") for run in plan.runs]
    campaign_plan.write(folder / campaign_folders.PLAN, msgspec.structs.replace(plan, runs=runs))
    with pytest.raises(errors.ScenarioError, match=r"mine\.toml"):
        failed_runs.planned(tmp_path)
