"""`--output json`: one document on standard output, whatever else happens."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e import running

pytestmark = pytest.mark.e2e


def document(folder: pathlib.Path, *arguments: str) -> tuple[int, Any]:
    ended = subprocess.run(
        [sys.executable, "-m", "harness", *arguments, "--output", "json"],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder), "GITHUB_ACTIONS": "true"},
        capture_output=True,
        text=True,
        timeout=running.TIMEOUT_S,
        check=False,
    )
    assert ended.stderr.startswith("seed 7\n"), ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def test_a_run(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    changes = ("--set", "load.allocations_min=100000", "--set", "traffic.duration_max_s=0.1")
    code, found = document(tmp_path, "run", scenario, "--seed", "7", *changes)
    assert (code, found["verdict"]) == (20, "UNKNOWN")
    directory = pathlib.Path(found.pop("directory"))
    assert directory == running.run_directory(tmp_path).resolve()
    assert found == json.loads((directory / "verdict.json").read_text())


def test_a_campaign(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    code, found = document(tmp_path, "hunt", scenario, "--seed", "7", "--repeat", "1")
    assert code == found["exit_code"] == 0
    correct, control = found["rows"]
    assert (correct["verdict"], correct["purpose"]) == ("VALID", "subject")
    assert (control["verdict"], control["caught"]) == ("INVALID", 1)
    assert pathlib.Path(control["runs"][-1]["directory"], "verdict.json").is_file()
