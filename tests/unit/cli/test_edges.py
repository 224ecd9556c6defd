"""Mistakes of users: one clear message, the designed exit code, no traceback."""

import pathlib
import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support import cases

FlakeHunt = Callable[..., tuple[int, str, str]]
BROKEN_SCENARIO = """
schema_version = 1
name = "broken"
title = "t"
description = "d"
colour = "blue"
[traffic]
profile = "churn"
usrs = 3
[load]
allocations_min = 1
pods_running_min = 1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The user's folder, and the state of clusters."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("command", "message"), cases.read(__file__, "mistakes"))
def test_a_mistake(folder: pathlib.Path, flake_hunt: FlakeHunt, command: str, message: str) -> None:
    (folder / "broken.toml").write_text(BROKEN_SCENARIO)
    (folder / "torn.toml").write_text("x = [")
    found, _, complaint = flake_hunt(*shlex.split(command))
    assert message in complaint
    assert "Traceback" not in complaint
    assert found == 2
    assert not list(folder.glob("reports/*/*/plan.json"))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["hunt", "--help"], ["cluster", "--help"]]
)
def test_help_teaches(flake_hunt: FlakeHunt, arguments: list[str]) -> None:
    code, out, _ = flake_hunt(*arguments)
    assert code == 0
    assert "Usage" in out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, harness.cli.commands\nharness.cli.commands.make_app()\n"
        "print({'pandas', 'locust', 'gevent', 'pydantic', 'numpy'} & set(sys.modules))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "set()\n"
