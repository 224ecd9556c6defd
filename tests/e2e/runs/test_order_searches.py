"""A search of a program's own threads: a planted race is found, shrunk, explained and repeated."""

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest

from harness import processes
from tests.support import real_programs

pytestmark = pytest.mark.e2e
SOURCES = pathlib.Path(__file__).parent / "go_programs"
EXAMPLE = pathlib.Path(__file__).parents[3] / "examples" / "scheduler.go"


def build(folder: pathlib.Path, *options: str) -> pathlib.Path:
    """Build the scheduler with a cache, stripped, from its file and the example's functions."""
    tool = real_programs.go()
    if tool is None:
        pytest.skip("no Go here: name the tool in FLAKE_HUNT_GO, or put it on PATH")
    (folder / "caching.go").write_text((SOURCES / "caching.go").read_text())
    example = EXAMPLE.read_text().replace("func main() {", "func fromFreshLists() {")
    (folder / "scheduler.go").write_text(example)
    program = folder / "caching"
    environment = {**os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0"}
    flags = " ".join(["-s", "-w", *options])
    subprocess.run(
        [tool, "build", "-ldflags", flags, "-o", program, "."],
        check=True,
        env=environment,
        cwd=folder,
    )
    return program


def explore(
    program: pathlib.Path, reports: pathlib.Path, seconds: int
) -> tuple[int, dict[str, Any]]:
    """Search the program; return the exit code and the document."""
    words = ["--program", f"{program} {{kubeconfig}} {{scheduler_name}}", "--time", str(seconds)]
    words += ["--set", f"reports={reports}", "--output", "json"]
    command = processes.command("explore", *words)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.timeout(900)
def test_a_planted_race_is_found_and_its_script_is_confirmed(tmp_path: pathlib.Path) -> None:
    program = build(tmp_path)
    code, found = explore(program, tmp_path / "reports", 120)
    assert (code, found["answer"]) == (10, "confirmed")
    holds, script = found["shrunk"]["holds"], found["script"]
    assert len(holds) <= 4
    assert any("copyAllocated" in hold["place"] for hold in holds)
    assert found["shrunk"]["rate"]["failed"] > found["shrunk"]["quiet"]["failed"]
    assert script["confirmed"]["failed"] == script["confirmed"]["runs"]


@pytest.mark.timeout(600)
def test_its_repaired_twin_is_left_alone(tmp_path: pathlib.Path) -> None:
    program = build(tmp_path, "-X", "main.repaired=yes")
    code, found = explore(program, tmp_path / "reports", 45)
    assert (code, found["answer"], found["shrunk"]) == (0, "refuted", None)
    assert found["search"]["tries"] > 5
