"""The table of releases: a release that has a finding, one that has not, and what remains."""

import json
import os
import pathlib
import signal
from typing import Any

import pytest

from tests.e2e import running
from tests.stand_ins import commands

pytestmark = pytest.mark.e2e
AS_RELEASED, MENDED = "1.36.4", "1.37.0"


@pytest.fixture
def binaries(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with a release that has H1, and one that has not."""
    folder = tmp_path / "binaries"
    commands.install(folder, "kube-scheduler", release=AS_RELEASED)
    remedy = "keep-in-flight-until-known"
    commands.install(folder, "kube-scheduler", release=MENDED, STAND_IN_REMEDIES=remedy)
    return folder


def arguments(binaries: pathlib.Path, repeat: int, *more: str) -> list[str]:
    options = ["--only", "H1", "--repeat", str(repeat), "--jobs", "1", "-o", "table"]
    return ["releases", "--binaries", str(binaries), *options, *more]


def document(folder: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "table" / "releases.json").read_text())
    return found


def test_each_release_says_what_it_does_and_no_run_is_made_twice(
    tmp_path: pathlib.Path, binaries: pathlib.Path
) -> None:
    code, output = running.run(tmp_path, *arguments(binaries, 1))
    assert code == 0, output
    assert "2 runs to make, 0 made before" in output
    cells = {cell["version"]: cell for cell in document(tmp_path)["cells"]}
    assert {version: cell["state"] for version, cell in cells.items()} == {
        AS_RELEASED: "shown",
        MENDED: "not shown",
    }, output
    for cell in cells.values():
        (run,) = cell["runs"]
        assert (tmp_path / "table" / run["directory"] / "report.html").is_file()
    code, output = running.run(tmp_path, *arguments(binaries, 1))
    assert (code, "0 runs to make, 2 made before" in output) == (0, True), output
    assert [cell["runs"] for cell in document(tmp_path)["cells"]] == [
        cell["runs"] for cell in cells.values()
    ]


def test_an_interruption_leaves_nothing_and_keeps_what_was_made(
    tmp_path: pathlib.Path, binaries: pathlib.Path
) -> None:
    given = arguments(binaries, 50, "--release", AS_RELEASED)
    with running.started(tmp_path, *given) as command:
        command.wait_for_text("[1/50] shown")
        os.killpg(command.process.pid, signal.SIGINT)
        assert command.wait() == 130
        assert "the same command makes the others" in command.text()
        assert "Traceback" not in command.text()
        command.require_alone()
    (cell,) = document(tmp_path)["cells"]
    assert cell["state"] == "shown"
    assert document(tmp_path)["made"] >= 1


def test_a_subject_that_ends_at_once_is_undecided(
    tmp_path: pathlib.Path, binaries: pathlib.Path
) -> None:
    commands.install(binaries, "kube-scheduler", release="1.38.0", STAND_IN_REMEDIES="none-such")
    code, output = running.run(tmp_path, *arguments(binaries, 1, "--release", "1.38"))
    assert code == 20, output
    (cell,) = document(tmp_path)["cells"]
    assert cell["state"] == "undecided"
    # Either is seen first: that it has ended, or that its first step does not come.
    told = ("expected scheduler to run", "before scheduler to watch")
    assert any(words in cell["reason"] for words in told), cell["reason"]
