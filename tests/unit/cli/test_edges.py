"""Mistakes of users: one clear message, the designed exit code, no traceback."""

import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from harness.campaign.sharding import sharded_plans
from harness.scenario import loading
from tests.support import cases, shards
from tests.support.called_commands import FlakeHunt


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The user's folder, with two broken files and a plan; the state of clusters is elsewhere."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    text = (loading.SHELF.folder() / "pod-churn.toml").read_text()
    broken = text.replace("[pools]", 'colour = "blue"\n[pools]').replace("users =", "usrs =")
    (here / "broken.toml").write_text(broken)
    (here / "torn.toml").write_text("x = [")
    sharded_plans.write(here / "p.json", shards.plan())
    return here


@pytest.mark.parametrize(("command", "message"), cases.read(__file__, "mistakes"))
def test_a_mistake(folder: pathlib.Path, flake_hunt: FlakeHunt, command: str, message: str) -> None:
    """One message, perhaps with details below it, and nothing is written."""
    code, out, complaint = flake_hunt(*shlex.split(command))
    said = " ".join(complaint.split())
    assert re.search(re.escape(message).replace("…", ".*"), said), complaint
    assert "Traceback" not in complaint
    assert (code, out) == (2, "")
    first, *more = complaint.splitlines()
    assert first.startswith("flake-hunt: ")
    assert [line for line in more if not line.startswith(("  ", "Try: ", "Usage: "))] == []
    assert {path.name for path in folder.iterdir()} == {"broken.toml", "p.json", "torn.toml"}


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, harness.cli.commands\nharness.cli.commands.make_app()\n"
        "heavy = {'pandas', 'locust', 'gevent', 'pydantic', 'numpy', 'harness.extensions'}\n"
        "print(heavy & set(sys.modules))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "set()\n"
