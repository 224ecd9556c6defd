"""Folders of shards: which are read, which are refused, and what is written."""

import json
import pathlib
import shutil

import msgspec
import pytest

from harness import errors
from harness.campaign import results
from harness.campaign.sharding import merged_campaigns, shard_folders, sharded_plans
from harness.history import campaign_folders
from harness.run import run_plan
from tests.support import schemas, shards

PLAN = shards.plan(subjects=5, controls=1, shards=3)


def codes(given: list[str], target: pathlib.Path) -> tuple[int, merged_campaigns.MergedCampaign]:
    made = merged_campaigns.write(merged_campaigns.read(given), target)
    schemas.obeying("campaign", (target / "results.json").read_bytes())
    schemas.obeying("merge", (target / "merge.json").read_bytes())
    return made.campaign.exit_code, made


def without_directory(result: results.RunResult) -> results.RunResult:
    return msgspec.structs.replace(result, directory="")


def test_folders_of_shards_of_reports_and_of_all_reports_are_the_same(
    tmp_path: pathlib.Path,
) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    together = tmp_path / "together"
    for number in range(1, 4):
        shards.folder(together, PLAN, number)
    reports = [str(pathlib.Path(path).parents[1]) for path in own]
    made = [
        codes(given, tmp_path / f"m{number}")
        for number, given in enumerate((own, reports, [str(together)], [*own, *reports]))
    ]
    assert {code for code, _ in made} == {0}
    first, *others = ([*map(without_directory, one.results)] for _, one in made)
    assert others == [first] * len(others)
    assert [one.merge.doubled for _, one in made] == [[]] * 4, "a folder named twice is one"


def test_a_copy_of_a_shard_is_doubled_and_named(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    copy = tmp_path / "copy"
    shutil.copytree(own[0], copy)
    code, made = codes([*own, str(copy)], tmp_path / "merged")
    assert code == 0
    assert {(item.counted, item.folder) for item in made.merge.doubled} == {(own[0], str(copy))}
    assert len(made.merge.doubled) == len(PLAN.runs_of(1))


def test_an_empty_folder_is_named_and_its_shard_is_unknown(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    (tmp_path / "empty").mkdir()
    given = merged_campaigns.read([*own[:2], str(tmp_path / "empty")])
    assert given.empty == [str(tmp_path / "empty")]
    made = merged_campaigns.write(given, tmp_path / "merged")
    assert (made.campaign.exit_code, made.merge.missing_shards) == (20, [3])


@pytest.mark.parametrize("content", ["", "{", '{"schema": 1}', "[]", "\udcff"])
def test_a_damaged_shard_is_named_and_unknown(tmp_path: pathlib.Path, content: str) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    record = pathlib.Path(own[1], shard_folders.RECORD)
    record.write_bytes(content.encode(errors="surrogateescape"))
    code, made = codes(own, tmp_path / "merged")
    assert (code, made.merge.missing_shards) == (20, [2])
    (damaged,) = [item for item in made.merge.folders if item.shard is None]
    assert (damaged.folder, damaged.problems[0][:20]) == (own[1], "shard.json is damage")


def test_a_shard_without_results_is_unknown(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    pathlib.Path(own[2], campaign_folders.RESULTS).unlink()
    code, made = codes(own, tmp_path / "merged")
    assert code == 20
    assert {item.shard for item in made.merge.missing} == {3}


def test_a_damaged_copy_of_the_plan_is_named_and_unknown(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    plans = [pathlib.Path(path, shard_folders.PLAN) for path in own]
    plans[0].write_bytes(plans[0].read_bytes()[:100])
    code, made = codes(own, tmp_path / "merged")
    assert (code, made.merge.missing) == (20, [])
    assert made.campaign.problems[0].startswith(f"{own[0]}: sharded-plan.json: expected a whole")
    for plan in plans:
        plan.write_bytes(b"{")
    with pytest.raises(errors.UsageError, match=r"sharded-plan\.json: expected a whole plan"):
        merged_campaigns.read(own)


def test_a_plan_in_the_place_of_another_is_refused(tmp_path: pathlib.Path) -> None:
    other = shards.plan(subjects=4, controls=1, shards=3)
    path = shards.folder(tmp_path, PLAN, 1)
    sharded_plans.write(path / shard_folders.PLAN, other)
    with pytest.raises(errors.UsageError, match="got another one"):
        merged_campaigns.read([str(path)])


def test_shards_of_two_plans_are_refused(tmp_path: pathlib.Path) -> None:
    first = shards.folder(tmp_path / "a", PLAN, 1)
    second = shards.folder(tmp_path / "b", shards.plan(subjects=6, shards=3), 2)
    with pytest.raises(errors.UsageError, match="expected shards of one plan") as caught:
        merged_campaigns.read([str(first), str(second)])
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)


def test_a_plan_of_another_version_is_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shards.folder(tmp_path, PLAN, 1)
    monkeypatch.setattr(run_plan, "versions", lambda: {"flake-hunt": "9.9", "commit": PLAN.commit})
    with pytest.raises(errors.UsageError, match=r"expected a plan of Flake Hunt 9\.9"):
        merged_campaigns.read([str(path)])


def test_a_shard_of_another_schema_is_refused(tmp_path: pathlib.Path) -> None:
    path = shards.folder(tmp_path, PLAN, 1) / shard_folders.RECORD
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 2}))
    with pytest.raises(errors.UsageError, match="expected a shard of schema 1, got schema 2"):
        merged_campaigns.read([str(path.parent)])


@pytest.mark.parametrize("name", ["none", "file"])
def test_what_is_no_folder_is_refused(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.UsageError, match="which is no folder"):
        merged_campaigns.read([str(tmp_path / name)])


def test_folders_without_any_shard_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match="expected folders of shards"):
        merged_campaigns.read([str(tmp_path)])


def test_nothing_but_an_earlier_merge_of_the_plan_is_overwritten(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    target = tmp_path / "merged"
    assert codes(own[:2], target)[0] == 20
    assert codes(own, target)[0] == 0
    other = shards.plan(subjects=6, shards=3)
    given = merged_campaigns.read([str(shards.folder(tmp_path / "b", other, 2))])
    before = (target / "merge.json").read_bytes()
    with pytest.raises(errors.UsageError, match="expected an empty folder"):
        merged_campaigns.write(given, target)
    assert (target / "merge.json").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(errors.UsageError, match="expected an empty folder"):
        merged_campaigns.write(given, tmp_path / "mine")


def test_run_directories_are_found_where_the_reports_were_copied_to(tmp_path: pathlib.Path) -> None:
    first, second = PLAN.runs_of(1)
    here = shards.evidence(tmp_path / "r1", first, shards.result(first)).directory
    there = f"/machine/reports/pod-churn/{pathlib.Path(here).name}"
    gone = shards.violated(second, directory="/machine/reports/pod-churn/gone")
    made = [shards.result(first, directory=there), gone]
    path = shards.folder(tmp_path / "r1", PLAN, 1, made)
    code, merged = codes([str(path)], tmp_path / "merged" / "campaigns" / "one")
    found = {result.number: result.directory for result in merged.results if result.directory}
    assert found == {first.number: here, second.number: str(tmp_path / "r1/pod-churn/gone")}
    assert code == 10, "what was found is not lost with its folder"
    [problem] = merged.campaign.problems
    assert "there is no plan.json: copy the run directory" in problem


def test_the_number_of_jobs_is_that_of_all_machines(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    assert codes(own, tmp_path / "same")[1].campaign.jobs == 1
    record = pathlib.Path(own[1], shard_folders.RECORD)
    record.write_text(json.dumps(json.loads(record.read_text()) | {"jobs": 4}))
    assert codes(own, tmp_path / "other")[1].campaign.jobs == 0


@pytest.mark.parametrize(("least", "code"), [(15, 0), (16, 10)])
def test_a_threshold_is_judged_over_the_runs_of_all_shards(
    tmp_path: pathlib.Path, least: int, code: int
) -> None:
    """The runs of the subject have 1 to 5 claims; no shard has all of them."""
    plan = shards.plan(shards=3, thresholds=[f"campaign:claims>={least}"])
    own = shards.every_folder(tmp_path, plan)
    found, made = codes(own, tmp_path / "merged")
    assert (found, [item.measured for item in made.campaign.thresholds]) == (code, [15.0])
    text = (tmp_path / "merged" / "junit.xml").read_text()
    assert f'name="threshold campaign:claims&gt;={least}"' in text
    with shard_folders.opened(
        plan, shards.chosen(1, plan), reports=tmp_path / "r1", jobs=1
    ) as folder:
        assert shard_folders.campaign(plan, folder).is_part


def test_a_threshold_needs_all_shards_and_what_their_verdicts_say(tmp_path: pathlib.Path) -> None:
    plan = shards.plan(shards=3, thresholds=["campaign:claims>=1"])
    own = shards.every_folder(tmp_path, plan)
    code, made = codes(own[:2], tmp_path / "merged")
    [item] = made.campaign.thresholds
    assert (code, item.verdict, item.measured) == (20, "UNKNOWN", None)
    assert item.reason.endswith("of 5 runs cannot say it")
    path = pathlib.Path(own[0], campaign_folders.RESULTS)
    path.write_bytes(path.read_bytes().replace(b'"figures":{"claims":', b'"figures":{"claims":1'))
    code, made = codes(own, tmp_path / "forged")
    assert code == 20
    assert "(figures differ)" in made.campaign.problems[0]
