"""Every run and campaign of a folder of reports is listed, newest first."""

import pathlib

import pytest

from harness.history import campaign_folders, report_folders, run_folders
from tests.histories import archives


def test_runs_are_listed_newest_first(tmp_path: pathlib.Path) -> None:
    for name, scenario in (("2026-1", "a"), ("2026-3", "b"), ("2026-2", "a")):
        archives.run(tmp_path, name, scenario=scenario)
    (tmp_path / "latest").symlink_to(tmp_path / "b" / "2026-3")
    (tmp_path / "a" / "not-a-run").mkdir()
    (tmp_path / "README.md").write_text("")
    (tmp_path / "a" / "2026-2" / "verdict.json").write_bytes(b"{")
    found = report_folders.ReportFolder(tmp_path)
    runs = list(found.runs())
    assert [run.path.name for run in runs] == ["2026-3", "2026-2", "2026-1"]
    assert runs[1].state is run_folders.State.DAMAGED
    assert (found.runs_left_out, found.campaigns_left_out) == (0, 0)


def test_nothing_is_an_empty_list(tmp_path: pathlib.Path) -> None:
    found = report_folders.ReportFolder(tmp_path / "missing")
    assert list(found.runs()) == []
    assert list(found.campaigns()) == []


def test_a_campaign_that_ended(tmp_path: pathlib.Path) -> None:
    runs = [archives.run(tmp_path, "one"), archives.run(tmp_path, "two", "INVALID")]
    archives.campaign(tmp_path, "c", runs, document={"verdict": "INVALID", "summary": "bad"})
    [found] = report_folders.ReportFolder(tmp_path).campaigns()
    assert (found.verdict, found.summary, found.problem) == ("INVALID", "bad", "")
    assert (found.seed, found.planned, found.cluster) == (7, 2, "embedded")
    assert found.runs == [run.path for run in runs]


def test_a_campaign_that_was_killed(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "one")
    folder = archives.campaign(tmp_path, "c", [made], planned=9)
    with (folder / "results.jsonl").open("a") as file:
        file.write('{"scenario": "torn')
    found = campaign_folders.read(folder)
    assert found.problem == "it is under way, or was interrupted"
    assert (len(found.results), found.planned) == (1, 9)


@pytest.mark.parametrize("name", ["campaign.json", "results.jsonl"])
def test_a_damaged_campaign(tmp_path: pathlib.Path, name: str) -> None:
    folder = archives.campaign(tmp_path, "c", [])
    (folder / name).write_bytes(b"[[[\n")
    assert "it is damaged" in campaign_folders.read(folder).problem


def test_runs_are_found_when_the_reports_were_moved(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path / "old", "one")
    archives.campaign(tmp_path / "old", "c", [made])
    (tmp_path / "old").rename(tmp_path / "new")
    found = campaign_folders.read(tmp_path / "new" / "campaigns" / "c")
    assert found.runs == [tmp_path / "new" / made.path.parent.name / "one"]
