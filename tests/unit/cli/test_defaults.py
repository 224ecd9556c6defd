"""Defaults of options from flake-hunt.toml and pyproject.toml."""

import pathlib
from typing import Any

import pytest

from tests.support import cases

FILE = """
subject = "python"
reports = "mine"
minutes = 7
jobs = 3
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    return tmp_path


def test_the_nearest_file_above_is_used_and_told_and_options_win(
    flake_hunt: Any, folder: pathlib.Path
) -> None:
    (folder / "flake-hunt.toml").write_text(FILE)
    code, out, err = flake_hunt("test", "--quick", "--dry-run", "--jobs", "2")
    assert code == 0
    assert ", 2 at once; all but the controls are repeated until 7 minutes" in out
    assert err == "from ../flake-hunt.toml: program=python, minutes=7.0, reports=../mine\n"
    (folder / "below/pyproject.toml").write_text("[tool.flake-hunt]\njobs = 4\n")
    code, out, err = flake_hunt("hunt", "pod-churn", "--dry-run")
    assert (code, ", 4 at once" in out, err) == (0, True, "from pyproject.toml: jobs=4\n")
    (folder / "below/pyproject.toml").write_text("[tool.other]\njobs = 4\n")
    assert flake_hunt("hunt", "pod-churn", "--dry-run")[2].startswith("from ../flake-hunt.toml: ")


def test_a_command_without_such_options_does_not_read_it(
    flake_hunt: Any, folder: pathlib.Path
) -> None:
    (folder / "flake-hunt.toml").write_text("nonsense = 1")
    assert flake_hunt("scenarios", "pod-churn")[0] == 0


@pytest.mark.parametrize(("text", "message"), cases.read(__file__, "mistakes"))
def test_a_mistake_is_one_sentence(
    flake_hunt: Any, folder: pathlib.Path, text: str, message: str
) -> None:
    (folder / "flake-hunt.toml").write_text(text)
    code, _, err = flake_hunt("hunt", "pod-churn", "--dry-run")
    assert (code, message in err) == (2, True), err
