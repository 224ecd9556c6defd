"""`--output json`: one document on standard output, everything else on standard error."""

import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tests.e2e import running
from tests.support import schemas

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


def test_a_run_that_gets_no_more_time_than_its_scenario_allows(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    changes = ("--set", "load.allocations_min=100000", "--set", "traffic.duration_max_s=0.1")
    code, found = document(tmp_path, "run", scenario, "--seed", "7", *changes)
    assert (code, found["verdict"]) == (20, "UNKNOWN")
    assert [item["name"] for item in found["certificate"] if not item["ok"]] == ["load"]
    directory = pathlib.Path(found.pop("directory"))
    assert directory == running.run_directory(tmp_path).resolve()
    assert found == schemas.obeying("verdict", (directory / "verdict.json").read_bytes())


def test_a_campaign(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    options = ("--repeat", "1", "--jobs", "2", "--summary", "summary.md")
    code, found = document(tmp_path, "hunt", scenario, "--seed", "7", *options)
    assert code == found["exit_code"] == 0
    assert schemas.obeying("campaign", found)["command"][:2] == ["hunt", scenario]
    correct, control = found["rows"]
    assert (correct["verdict"], correct["purpose"]) == ("VALID", "subject")
    assert (control["verdict"], control["caught"]) == ("INVALID", 1)
    of_control = pathlib.Path(control["runs"][-1]["directory"])
    assert (of_control / "verdict.json").is_file()
    assert found["jobs"] == json.loads((of_control / "plan.json").read_bytes())["jobs"] == 2
    assert (
        "the correct subject: no double allocation in 1 run (95 %: under 95 % of runs)"
        in found["summary"]
    )
    assert "1 of 1 controls caught" in found["summary"]
    assert (
        "## VALID the correct subject: no double allocation in 1 run"
        in (tmp_path / "summary.md").read_text()
    )
    require_pages(tmp_path / found["directory"])
    assert found == json.loads((tmp_path / found["directory"] / "results.json").read_bytes())
    index = (tmp_path / "reports" / "index.html").read_text()
    assert index.count("/report.html") == 2


def require_pages(campaign: pathlib.Path) -> None:
    (suite,) = ET.parse(campaign / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "0", "0")
    page = (campaign / "index.html").read_text()
    links = re.findall(r'href="([^#"][^"]*)"', page)
    assert len(links) >= 2
    assert all((campaign / link).is_file() for link in links)
