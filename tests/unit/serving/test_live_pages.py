"""Runs under way are shown until they end."""

import contextlib
import os
import pathlib
import shutil

from harness import clocks
from harness.history import directories
from harness.serving import live_pages, served_folders
from tests.histories import archives
from tests.support import served_reports


def going_on(folder: pathlib.Path, name: str = "run", **changes) -> directories.RunDirectory:
    """A run that this process makes, without an end so far."""
    own = {"pid": os.getpid(), "boot_id": clocks.boot_id(), "created_wall_ns": clocks.wall_ns()}
    return archives.run(folder, name, "INVALID", changes={**own, **changes})


def unfinished(run: directories.RunDirectory) -> dict[str, bytes]:
    """Take away what the end of a run writes, and return it."""
    paths = (run.verdict, run.manifest)
    content = {path.name: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    return content


def test_a_run_is_followed_until_it_ends(tmp_path: pathlib.Path) -> None:
    run = going_on(tmp_path)
    end = unfinished(run)
    with served_reports.serving(tmp_path) as client:
        for _ in range(2):
            content = client.ask("/running").text
            assert "running" in content
            assert "double allocations" in content
        for file, text in sorted(end.items()):
            (run.path / file).write_bytes(text)
        clocks.wait_until(
            lambda: "Nothing runs now" in client.ask("/running").text,
            timeout_s=60,
            why="the run to be no longer shown",
        )


def test_all_that_goes_on_is_shown_and_nothing_else(tmp_path: pathlib.Path) -> None:
    ended = archives.run(tmp_path, "ended")
    killed = archives.run(tmp_path, "killed", changes={"boot_id": "another", "pid": 1})
    unfinished(killed)
    for path in killed.path.rglob("*"):
        os.utime(path, (0, 0))
    os.utime(killed.path, (0, 0))
    run = going_on(tmp_path)
    unfinished(run)
    follower = live_pages.Follower(served_folders.ServedFolder(tmp_path))
    with contextlib.closing(follower):
        assert [state.directory for state in follower.look()] == [str(run.path)]
        assert [state.directory for state in follower.look()] == [str(run.path)]
        shutil.rmtree(run.path)
        assert follower.look() == []
    assert follower.look() == []
    assert ended.verdict.exists()
