"""`flake-hunt explore --random-worlds`: exit codes, what it prints, and mistakes."""

import json
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from harness.cli import choosing
from harness.explore.search import shrink_world

TOKEN = re.compile(r"fh3-[\w-]+")
FlakeHunt = Callable[..., tuple[int, str, str]]
QUICK = ("explore", "--random-worlds", "--seed", "4")


@pytest.fixture(autouse=True)
def shrink_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrink_world, "SCHEDULES", 3)


def test_a_defect_is_found_without_being_told_the_world(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt(*QUICK, "--defect", "constraints-not-asked")
    assert code == 10
    assert "found in random-" in out
    assert "therefore constraint: the devices of" in out
    assert "worlds with each feature:" in out
    (token,) = TOKEN.findall(out)
    command = [sys.executable, "-m", "harness.cli.main", "replay", token]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 10
    assert "therefore constraint: " in again.stdout


def test_nothing_is_found_without_a_defect(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt(*QUICK, "--time", "0.2s", "--schedules", "2")
    assert code == 0
    assert "\nnothing found: " in out


def test_the_findings_as_json(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt(*QUICK, "--defect", "one-device-enough", "--output", "json")
    document = json.loads(out)
    assert code == document["exit_code"] == 10
    assert document["scenario"].startswith("random-")
    assert document["features"]
    assert document["finding"] in document["story"][-1]


def test_a_time_is_a_number_with_a_unit() -> None:
    assert [choosing.seconds(text) for text in ("90", "0.5s", "30m", "2h")] == [90, 0.5, 1800, 7200]
