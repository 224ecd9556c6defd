"""Changes of pools are counted, and a run without those that are demanded is not VALID."""

import json
import pathlib

import pytest

from harness.checks import judging, verdicts
from harness.history import directories, journal_writer, records
from harness.run import goals
from tests.histories import building, judged_runs, language

TEXT = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1"
DEMANDED = {"taint-1": 2, "renew-2": 1}


def made(name: str, *, undone: bool = False) -> records.PoolChanged:
    return records.PoolChanged(
        change=name,
        number=1,
        undone=undone,
        pools=["gpu.example/p"],
        devices=["gpu.example/p/d"],
        begun_ns=language.at(1),
        ts_ns=language.at(2),
    )


ALL = [made("taint-1"), made("taint-1", undone=True), made("renew-2"), made("taint-1")]


def with_changes(
    folder: pathlib.Path, body: list[records.PoolChanged] | None, *, is_closed: bool = True
) -> directories.RunDirectory:
    """A run that demands changes, and a journal of them unless `body` is None."""
    directory = building.build(folder, TEXT)
    plan = json.loads(directory.plan.read_text())
    plan |= {"pool_changes": DEMANDED, "expected_pool_changes": [building.KUBELET]}
    directory.plan.write_text(json.dumps(plan))
    if body is not None:
        path = directory.pool_changes(building.KUBELET)
        writer = journal_writer.Writer(path, process=building.KUBELET, run_id=plan["run_id"])
        writer.write_many(body)
        if is_closed:
            writer.close()
    return directory


def test_all_that_was_demanded_was_made(tmp_path: pathlib.Path) -> None:
    judgement = judging.judge(with_changes(tmp_path / "run", ALL))
    assert judgement.verdict is verdicts.Verdict.VALID
    assert judged_runs.item(judgement, "pool-changes") == (True, "1 times renew-2, 2 times taint-1")
    assert judgement.figures.changed_pools is not None
    assert judgement.figures.changed_pools.undone == {"taint-1": 1}


@pytest.mark.parametrize(
    ("body", "is_closed", "reason"),
    [
        (ALL[:3], True, "1 times taint-1, expected 2; the load ended too early"),
        ([], True, "0 times taint-1, expected 2; 0 times renew-2, expected 1"),
        (None, True, "kubelet left no journal of changes"),
        (ALL, False, "changes of kubelet"),
    ],
)
def test_what_is_missing_makes_the_run_unknown(
    tmp_path: pathlib.Path, body: list[records.PoolChanged] | None, is_closed: bool, reason: str
) -> None:
    judgement = judging.judge(with_changes(tmp_path / "run", body, is_closed=is_closed))
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert not judged_runs.item(judgement, "pool-changes")[0]
    assert reason in judged_runs.item(judgement, "pool-changes")[1]


@pytest.mark.parametrize(("body", "is_reached"), [(ALL, True), (ALL[:3], False), (None, False)])
def test_the_load_goes_on_until_all_changes_were_made(
    tmp_path: pathlib.Path, body: list[records.PoolChanged] | None, is_reached: bool
) -> None:
    directory = with_changes(tmp_path / "run", body, is_closed=False)
    plan = judging.examine(directory).history.plan
    assert goals.PoolChangeGoal(plan, directory).is_reached() is is_reached
