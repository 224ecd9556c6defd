"""Run directories as arguments: campaigns and quoted patterns stand for their runs."""

import pathlib

import pytest

from harness import errors
from harness.cli import run_paths
from tests.histories import archives


def test_campaigns_and_patterns_stand_for_their_runs(tmp_path: pathlib.Path) -> None:
    one, two = (archives.run(tmp_path, name).path for name in ("one", "two"))
    campaign = archives.campaign(tmp_path, "c", [archives.run(tmp_path, "x", scenario="s")])
    (tmp_path / "latest").symlink_to(one)
    assert run_paths.expanded([two, tmp_path / "*" / "*"]) == [two, tmp_path / "s" / "x", one]
    assert run_paths.expanded([campaign]) == [tmp_path / "s" / "x"]
    assert run_paths.expanded([one.parent]) == [one, two]
    assert run_paths.expanded([tmp_path]) == [tmp_path]
    assert run_paths.expanded([tmp_path / "nothing"]) == [tmp_path / "nothing"]


def test_a_folder_with_the_name_of_a_pattern_is_itself(tmp_path: pathlib.Path) -> None:
    (tmp_path / "[a]").mkdir()
    assert run_paths.expanded([tmp_path / "[a]"]) == [tmp_path / "[a]"]


def test_what_stands_for_no_run_is_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(errors.UsageError, match="matches none"):
        run_paths.expanded([tmp_path / "*"])
    with pytest.raises(errors.UsageError, match="expected a campaign with runs"):
        run_paths.expanded([archives.campaign(tmp_path, "c", [])])
    monkeypatch.setattr(run_paths, "RUNS_MAX", 1)
    with pytest.raises(errors.UsageError, match="expected at most 1 runs, got 2"):
        run_paths.expanded([tmp_path / "a", tmp_path / "b"])
