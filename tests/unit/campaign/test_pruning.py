"""Old campaigns leave a folder of reports; what failed does not."""

import os
import pathlib

import msgspec
import pytest

from harness import clocks
from harness.campaign import campaign_plan, pruning, results
from harness.history import campaign_folders, directories, retention
from tests.support import old_campaigns, shards

NAMES, PLAN, KIB = old_campaigns.NAMES, old_campaigns.PLAN, old_campaigns.KIB


def prune(reports: pathlib.Path, *, with_failed: bool = False, **limits: float) -> pruning.Pruning:
    found = pruning.planned(reports, pruning.Limits(**limits), with_failed=with_failed)
    return pruning.prune(found)


def test_the_newest_stay_with_their_runs(tmp_path: pathlib.Path) -> None:
    made = [old_campaigns.campaign(tmp_path, name) for name in NAMES]
    found = pruning.planned(tmp_path, pruning.Limits(campaigns=2))
    assert [item.name for item in found.campaigns] == NAMES[2::-1]
    assert (found.within, found.is_done) == (2, False)
    assert all(place.is_dir() for places in made for place in places), "nothing is removed yet"
    assert pruning.prune(found).is_done
    assert old_campaigns.left(tmp_path) == NAMES[3:]
    assert [place.is_dir() for places in made for place in places] == [False] * 9 + [True] * 6
    assert not prune(tmp_path, campaigns=2).campaigns


def test_the_size_counts_campaigns_from_the_newest_one(tmp_path: pathlib.Path) -> None:
    for name in NAMES:
        old_campaigns.campaign(tmp_path, name)
    each = pruning.planned(tmp_path, pruning.Limits(campaigns=4)).bytes
    assert each > 3 * 64 * KIB
    found = prune(tmp_path, gib=(2.5 * each) / 2**30)
    assert old_campaigns.left(tmp_path) == NAMES[3:]
    assert found.bytes == pytest.approx(3 * each, rel=0.01)
    prune(tmp_path, gib=0)
    assert old_campaigns.left(tmp_path) == NAMES[4:], "the newest one stays always"


def test_the_age_is_that_of_the_start(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*NAMES, "mine"]:
        old_campaigns.campaign(tmp_path, name)
    day_6 = 1767657600  # 2026-01-06T00:00:00Z
    monkeypatch.setattr(clocks, "wall_ns", lambda: day_6 * 10**9)
    prune(tmp_path, days=2.5)
    assert old_campaigns.left(tmp_path) == [*NAMES[3:], "mine"], "a name without a time has no age"


@pytest.mark.parametrize(
    "worse",
    [
        shards.violated(PLAN.runs[0]),
        shards.result(PLAN.runs[0], verdict=shards.UNKNOWN),
        shards.result(PLAN.runs[0], verdict=None, error="no engine"),
        shards.missed(PLAN.runs[2])[0],
    ],
)
def test_what_was_not_as_expected_stays_with_its_evidence_and_its_campaign(
    tmp_path: pathlib.Path, worse: results.RunResult
) -> None:
    places = old_campaigns.campaign(tmp_path, NAMES[0], worse)
    old_campaigns.campaign(tmp_path, NAMES[1])
    [pruned] = prune(tmp_path, campaigns=1).campaigns
    assert [(item / "observations.jsonl").exists() for item in places] == [
        number == worse.number for number in (1, 2, 3)
    ]
    assert all((item / "report.html").exists() for item in places)
    assert (pruned.runs, len(pruned.emptied), len(pruned.stays)) == ([], 2, 1)
    emptied = [place for place in places if place.name in {*map(os.path.basename, pruned.emptied)}]
    assert all(retention.of_run(directories.RunDirectory(place)) for place in emptied)
    assert old_campaigns.left(tmp_path) == NAMES[:2]
    again = prune(tmp_path, campaigns=1)
    assert (again.campaigns, again.within, again.staying) == ([], 1, 1), "nothing more to free"
    prune(tmp_path, campaigns=1, with_failed=True)
    assert old_campaigns.left(tmp_path) == NAMES[1:2]
    assert not any(place.exists() for place in places)


def test_a_missed_attempt_goes_with_the_control_that_was_caught(tmp_path: pathlib.Path) -> None:
    old_campaigns.campaign(tmp_path, NAMES[0])
    old_campaigns.campaign(tmp_path, NAMES[1])
    first = old_campaigns.run_directory(tmp_path, "first-attempt", NAMES[0])
    missed = msgspec.structs.replace(shards.missed(PLAN.runs[2])[0], directory=str(first))
    path = tmp_path / "campaigns" / NAMES[0] / campaign_folders.RESULTS
    caught = path.read_bytes().replace(b'"attempt":0', b'"attempt":1')
    path.write_bytes(shards.lines([missed]) + caught)
    prune(tmp_path, campaigns=1)
    assert (old_campaigns.left(tmp_path), first.exists()) == ([NAMES[1]], False)


def test_what_was_cut_goes_and_what_was_not_judged_stays(tmp_path: pathlib.Path) -> None:
    places = old_campaigns.campaign(
        tmp_path, NAMES[0], shards.result(PLAN.runs[0], cut=True, verdict=None)
    )
    unjudged = old_campaigns.run_directory(tmp_path, "interrupted", NAMES[0])
    (unjudged / "verdict.json").unlink()
    old_campaigns.campaign(tmp_path, NAMES[1])
    [pruned] = prune(tmp_path, campaigns=1).campaigns
    assert pruned.stays == ["pod-churn/interrupted"]
    assert (unjudged / "observations.jsonl").exists()
    assert not any((place / "observations.jsonl").exists() for place in places)


def test_a_campaign_that_may_be_under_way_is_not_touched(tmp_path: pathlib.Path) -> None:
    old_campaigns.campaign(tmp_path, NAMES[0], has_ended=False)
    dead = tmp_path / "campaigns" / NAMES[1]
    old_campaigns.campaign(tmp_path, NAMES[1], has_ended=False)
    gone = msgspec.structs.replace(PLAN, pid=2**22 + 1, boot_id=clocks.boot_id())
    campaign_plan.write(dead / campaign_folders.PLAN, gone)
    old_campaigns.campaign(tmp_path, NAMES[2])
    prune(tmp_path, campaigns=1)
    assert old_campaigns.left(tmp_path) == [NAMES[0], NAMES[2]]


def test_single_runs_and_those_of_a_merged_campaign_stay(tmp_path: pathlib.Path) -> None:
    single = old_campaigns.run_directory(tmp_path, "single", "")
    places = old_campaigns.campaign(tmp_path, NAMES[0])
    old_campaigns.campaign(tmp_path, NAMES[1])
    merged = tmp_path / "campaigns" / NAMES[1] / campaign_folders.RESULTS
    merged.write_bytes((tmp_path / "campaigns" / NAMES[0] / campaign_folders.RESULTS).read_bytes())
    prune(tmp_path, campaigns=1)
    assert single.is_dir()
    assert all((place / "observations.jsonl").exists() for place in places)


def test_a_damaged_campaign_stays(tmp_path: pathlib.Path) -> None:
    places = old_campaigns.campaign(tmp_path, NAMES[0])
    (tmp_path / "campaigns" / NAMES[0] / campaign_folders.RESULTS).write_text("{\n")
    old_campaigns.campaign(tmp_path, NAMES[1])
    assert not prune(tmp_path, campaigns=1).campaigns
    assert all((place / "observations.jsonl").exists() for place in places)
    prune(tmp_path, campaigns=1, with_failed=True)
    assert old_campaigns.left(tmp_path) == NAMES[1:2]


def test_a_directory_elsewhere_is_not_removed(tmp_path: pathlib.Path) -> None:
    """results.jsonl may name any path; only what lies in the folder and names it is removed."""
    outside = tmp_path / "outside" / "pod-churn" / "x"
    outside.mkdir(parents=True)
    reports = tmp_path / "reports"
    old_campaigns.campaign(reports, NAMES[0])
    old_campaigns.campaign(reports, NAMES[1])
    path = reports / "campaigns" / NAMES[0] / campaign_folders.RESULTS
    extra = shards.result(PLAN.runs[1], directory=str(outside))
    path.write_bytes(path.read_bytes() + shards.lines([extra]))
    prune(reports, campaigns=1)
    assert outside.is_dir()


@pytest.mark.parametrize(("target", "expected"), [(0, 1), (1, 1)])
def test_latest_points_at_a_run_that_is_there(
    tmp_path: pathlib.Path, target: int, expected: int
) -> None:
    made = [old_campaigns.campaign(tmp_path, name) for name in NAMES[:2]]
    directories.link_latest(tmp_path, directories.RunDirectory(made[target][0]))
    prune(tmp_path, campaigns=1)
    assert (tmp_path / "latest").resolve().parent == made[expected][0].parent
    assert (tmp_path / "latest").resolve() in made[expected]
