"""Shards are merged: each planned run counts once, and nothing is missing without a name."""

import pathlib
import shutil
from typing import Any

import msgspec
import pytest

from harness import errors
from harness.campaign import campaign_documents
from harness.campaign.sharding import merging, shard_folders, sharded_plans
from harness.history import campaign_folders, results
from harness.history.purposes import Purpose
from harness.run import run_plan
from tests.support import schemas, shards
from tests.support.shards import UNKNOWN

PLAN = shards.plan(subjects=5, controls=2, shards=3)
CONTROL = next(run for run in PLAN.runs if run.purpose is Purpose.CONTROL)
SUBJECT = PLAN.runs[0]
Merged = tuple[list[results.RunResult], merging.MergeDocument]


def shard(number: int, content: bytes | None = None, *, folder: str = "") -> merging.ReadShard:
    """A shard, or all (0), with these results, or those that its runs should have."""
    runs = PLAN.runs_of(number)
    if content is None:
        content = results.encode(shards.result(run) for run in runs)
    campaign = msgspec.structs.replace(PLAN.campaign, shard=number, shards=3)
    whole, problems = shard_folders.read_results(content, {run.number: run for run in runs})
    return merging.ReadShard(
        folder=folder or f"s{number}", campaign=campaign, whole=whole, problems=problems
    )


def merged(*given: merging.ReadShard) -> Merged:
    made, document = merging.merged(PLAN, given)
    assert {result.number for result in made} == {run.number for run in PLAN.runs}
    return made, document


def code(made: Merged) -> int:
    return campaign_documents.exit_code(results.rows(made[0]), len(PLAN.runs))


def reasons(made: Merged) -> set[str]:
    return {item.reason for item in made[1].missing}


def test_all_shards_are_one_campaign() -> None:
    made = merged(shard(3), shard(1), shard(2))
    assert made[0] == [shards.result(run) for run in PLAN.runs], "in the order of the plan"
    assert (made[1].missing, made[1].doubled, made[1].missing_shards, code(made)) == ([], [], [], 0)
    assert merged(shard(0))[0] == made[0], "a campaign of the whole plan is one, too"


@pytest.mark.parametrize("lost", [1, 3])
def test_a_missing_shard_is_unknown_by_name(lost: int) -> None:
    made = merged(*(shard(number) for number in (1, 2, 3) if number != lost))
    assert made[1].missing_shards == [lost]
    assert [item.number for item in made[1].missing] == [run.number for run in PLAN.runs_of(lost)]
    assert reasons(made) == {f"shard {lost} of 3 is missing: none of the folders has it"}
    assert code(made) == 20
    unknown = [result for result in made[0] if result.missing]
    assert {(run.verdict, run.claims, run.directory) for run in unknown} == {(UNKNOWN, 0, "")}
    assert not any(result.is_found or result.is_missed for result in unknown)


def test_any_cut_of_all_results_leaves_unknown_or_everything() -> None:
    whole = results.encode(shards.result(run) for run in PLAN.runs)
    for end in range(0, len(whole), 7):
        made = merged(shard(0, whole[:end]))
        assert code(made) == 20
        assert made[1].missing
    content = results.encode(shards.result(run) for run in PLAN.runs_of(2))
    [reason] = reasons(merged(shard(1), shard(2, content[:-1]), shard(3)))
    assert reason.startswith("shard 2 of 3 has no result of this run: results.jsonl:2: expected a")
    assert reasons(merged(shard(1), shard(2, b""), shard(3))) == {
        "shard 2 of 3 has no result of this run: it was interrupted, or is under way (s2)"
    }


def test_a_control_whose_attempts_are_not_all_there_is_unknown() -> None:
    """Two attempts missed it, and the third one was due; or a later attempt caught it."""
    others = [shards.result(run) for run in PLAN.runs if run != CONTROL]
    for attempts in (shards.missed(CONTROL, 2), shards.missed(CONTROL, 3)[1:]):
        made = merged(shard(0, results.encode([*others, *attempts])))
        assert [item.number for item in made[1].missing] == [CONTROL.number]
        assert code(made) == 20
    late = [*shards.missed(CONTROL, 1), shards.result(CONTROL, attempt=1)]
    made = merged(shard(0, results.encode([*others, *late])))
    assert code(made) == 0
    assert [result.attempt for result in made[0] if result.number == CONTROL.number] == [0, 1]


OUTCOMES = {
    "violated": ([shards.violated(SUBJECT)], 10),
    "unknown": ([shards.result(SUBJECT, verdict=UNKNOWN)], 20),
    "valid": ([shards.result(SUBJECT)], 0),
    "error": ([shards.result(SUBJECT, verdict=None, error="no engine")], 1),
}


def doubled(run: Any, first: Any, second: Any) -> Merged:
    others = [shards.result(item) for item in PLAN.runs if item != run]
    one = shard(0, results.encode([*others, *first]), folder="one")
    return merged(one, shard(run.shard, results.encode(second), folder="two"))


@pytest.mark.parametrize("first", OUTCOMES)
@pytest.mark.parametrize("second", OUTCOMES)
def test_of_a_doubled_run_the_worse_result_counts_and_the_other_is_kept(
    first: str, second: str
) -> None:
    """An error says nothing about the subject, so that a second start heals it."""
    made = doubled(SUBJECT, OUTCOMES[first][0], OUTCOMES[second][0])
    worse = next(name for name in OUTCOMES if name in (first, second))
    assert code(made) == OUTCOMES[worse][1]
    (item,) = made[1].doubled
    assert (item.run, {item.counted, item.folder}) == (SUBJECT.id, {"one", "two"})
    counted = [result for result in made[0] if result.number == SUBJECT.number]
    both = [*OUTCOMES[first][0], *OUTCOMES[second][0]]
    assert sorted(map(repr, [*counted, *item.results])) == sorted(map(repr, both))


def test_of_a_doubled_control_a_miss_counts() -> None:
    caught, missed = [shards.result(CONTROL)], shards.missed(CONTROL)
    for first, second in ((caught, missed), (missed, caught)):
        made = doubled(CONTROL, first, second)
        assert [run for run in made[0] if run.number == CONTROL.number] == missed
        assert code(made) == 0, "the other run of this control caught it"


def test_of_a_run_that_one_folder_has_twice_the_worse_result_counts_and_it_is_a_problem() -> None:
    found = [shards.result(run) for run in PLAN.runs]
    made = shard(0, results.encode([*found, shards.violated(SUBJECT)]))
    assert code(merged(made)) == 10
    [problem] = made.problems
    assert problem == f"{SUBJECT.id}: expected each of its attempts once, in order"


# ------------------------------------------------------------------------------------ folders


def merge(given: list[str], target: pathlib.Path) -> tuple[int, Any, Any]:
    campaign, document = merging.write(merging.read(given), target)
    schemas.obeying("campaign", (target / "results.json").read_bytes())
    schemas.obeying("merge", (target / "merge.json").read_bytes())
    return campaign.exit_code, campaign, document


def found(campaign: campaign_documents.CampaignDocument) -> list[results.RunResult]:
    return [run for row in campaign.rows for run in row.runs]


def test_folders_of_shards_of_reports_and_of_all_reports_are_the_same(
    tmp_path: pathlib.Path,
) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    for number in range(1, 4):
        shards.folder(tmp_path / "together", PLAN, number)
    reports = [str(pathlib.Path(path).parents[1]) for path in own]
    together = [str(tmp_path / "together")]
    results_of = []
    for number, given in enumerate((own, reports, together, [*own, *reports])):
        exit_code, campaign, document = merge(given, tmp_path / f"m{number}")
        assert (exit_code, document.doubled) == (0, []), "a folder named twice is one"
        results_of.append([msgspec.structs.replace(one, directory="") for one in found(campaign)])
    assert results_of == results_of[:1] * 4


def test_a_copy_of_a_shard_is_doubled_and_named(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    copy = tmp_path / "copy"
    shutil.copytree(own[0], copy)
    exit_code, _, document = merge([*own, str(copy)], tmp_path / "merged")
    assert exit_code == 0
    assert {(item.counted, item.folder) for item in document.doubled} == {(own[0], str(copy))}
    assert len(document.doubled) == len(PLAN.runs_of(1))


def test_a_damaged_copy_of_the_plan_is_named_and_unknown(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    plans = [pathlib.Path(path, shard_folders.PLAN) for path in own]
    plans[0].write_bytes(plans[0].read_bytes()[:100])
    exit_code, campaign, document = merge(own, tmp_path / "merged")
    assert (exit_code, document.missing_shards) == (20, [1])
    assert campaign.problems[0].startswith(f"{own[0]}: expected a whole")
    for plan in plans:
        plan.write_bytes(b"{")
    with pytest.raises(errors.UsageError, match=r"expected a whole plan .*sharded-plan\.json"):
        merging.read(own)


def test_shards_of_two_plans_are_refused(tmp_path: pathlib.Path) -> None:
    other = shards.plan(subjects=6, shards=3)
    first = shards.folder(tmp_path / "a", PLAN, 1)
    second = shards.folder(tmp_path / "b", other, 2)
    with pytest.raises(errors.UsageError, match="expected folders of shards of one plan") as caught:
        merging.read([str(first), str(second)])
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)
    sharded_plans.write(first / shard_folders.PLAN, other)
    with pytest.raises(errors.UsageError, match=r"expected a shard of 3 of the plan"):
        merging.read([str(first)])


def test_a_plan_of_another_version_is_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shards.folder(tmp_path, PLAN, 1)
    versions = PLAN.campaign.versions | {"flake-hunt": "9.9"}
    monkeypatch.setattr(run_plan, "versions", lambda: versions)
    with pytest.raises(errors.UsageError, match=r"which has flake-hunt 9\.9 instead of"):
        merging.read([str(path)])


def test_what_is_no_folder_or_has_no_shard_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    for name in ("none", "file"):
        with pytest.raises(errors.UsageError, match="which is no folder"):
            merging.read([str(tmp_path / name)])
    with pytest.raises(errors.UsageError, match="expected folders of shards"):
        merging.read([str(tmp_path)])


def test_nothing_but_an_earlier_merge_of_the_plan_is_overwritten(tmp_path: pathlib.Path) -> None:
    own = shards.every_folder(tmp_path, PLAN)
    target = tmp_path / "merged"
    assert merge(own[:2], target)[0] == 20
    assert merge(own, target)[0] == 0
    given = merging.read([str(shards.folder(tmp_path / "b", shards.plan(subjects=6), 2))])
    before = (target / "merge.json").read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    for folder in (target, tmp_path / "mine"):
        with pytest.raises(errors.UsageError, match="expected an empty folder"):
            merging.write(given, folder)
    assert (target / "merge.json").read_bytes() == before


def test_run_directories_are_found_where_the_reports_were_copied_to(tmp_path: pathlib.Path) -> None:
    first, second = PLAN.runs_of(1)[:2]
    here = shards.evidence(tmp_path / "r1", first, shards.result(first)).directory
    there = f"/machine/reports/pod-churn/{pathlib.Path(here).name}"
    gone = shards.violated(second, directory="/machine/reports/pod-churn/gone")
    path = shards.folder(tmp_path / "r1", PLAN, 1, [shards.result(first, directory=there), gone])
    exit_code, campaign, _ = merge([str(path)], tmp_path / "merged" / "campaigns" / "one")
    places = {result.number: result.directory for result in found(campaign) if result.directory}
    assert places == {first.number: here, second.number: str(tmp_path / "r1/pod-churn/gone")}
    assert exit_code == 10, "what was found is not lost with its folder"
    [problem] = campaign.problems
    assert "expected a run directory, but" in problem


@pytest.mark.parametrize(("least", "exit_code"), [(15, 0), (16, 10)])
def test_a_threshold_is_judged_over_the_runs_of_all_shards(
    tmp_path: pathlib.Path, least: int, exit_code: int
) -> None:
    """The runs of the subject have 1 to 5 claims; no shard has all of them."""
    plan = shards.plan(shards=3, thresholds=[f"campaign:claims>={least}"])
    own = shards.every_folder(tmp_path, plan)
    code, campaign, _ = merge(own, tmp_path / "merged")
    assert (code, [item.measured for item in campaign.thresholds]) == (exit_code, [15.0])
    text = (tmp_path / "merged" / "junit.xml").read_text()
    assert f'name="threshold campaign:claims&gt;={least}"' in text
    assert shards.started(plan, 1, tmp_path / "r1")[1].is_part


def test_a_threshold_needs_all_shards_and_what_their_verdicts_say(tmp_path: pathlib.Path) -> None:
    plan = shards.plan(shards=3, thresholds=["campaign:claims>=1"])
    own = shards.every_folder(tmp_path, plan)
    exit_code, campaign, _ = merge(own[:2], tmp_path / "merged")
    [item] = campaign.thresholds
    assert (exit_code, item.verdict, item.measured) == (20, "UNKNOWN", None)
    assert item.reason.endswith("of 5 runs cannot say it")
    path = pathlib.Path(own[0], campaign_folders.RESULTS)
    path.write_bytes(path.read_bytes().replace(b'"figures":{"claims":', b'"figures":{"claims":1'))
    exit_code, campaign, _ = merge(own, tmp_path / "forged")
    assert exit_code == 20
    assert "(figures differ)" in campaign.problems[0]
