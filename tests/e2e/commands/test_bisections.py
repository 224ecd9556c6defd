"""git asks, and names the commit to blame."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e
ROOT = pathlib.Path(__file__).parents[3]
SCENARIO = pathlib.Path(__file__).with_suffix(".toml").read_text()
STEP = ("test", "sh scheduler.sh {kubeconfig} {scheduler_name}", "./few-pods.toml")
PART = f'exec {sys.executable} -m harness.cli.main part scheduler --kubeconfig "$1" --scheduler-name "$2"'
PROGRAMS = (
    PART,
    f"{PART} --defect finalizer-not-added",
    f"{PART} --defect finalizer-not-added #",
)
"""Our scheduler; the commit that breaks it; and one that does no harm."""


def git(folder: pathlib.Path, *words: str) -> str:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.invalid")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_git_names_the_commit_and_one_invalid_run_was_enough(tmp_path: pathlib.Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "few-pods.toml").write_text(SCENARIO)
    commits = []
    for program in PROGRAMS:
        (tmp_path / "scheduler.sh").write_text(program)
        git(tmp_path, "add", "few-pods.toml", "scheduler.sh")
        git(tmp_path, "commit", "--quiet", "-m", "scheduler")
        commits.append(git(tmp_path, "rev-parse", "HEAD"))
    git(tmp_path, "bisect", "start", commits[-1], commits[0])
    command = (
        sys.executable,
        "-m",
        "harness.cli.main",
        *STEP,
        "--bisect",
        "--quiet",
        "--jobs",
        "1",
    )
    ended = subprocess.run(
        ["git", "bisect", "run", *command],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    named = re.search(r"^([0-9a-f]{40}) is the first bad commit", ended.stdout, re.MULTILINE)
    assert named, ended.stdout + ended.stderr
    assert named[1] == commits[1]
    assert "bisect: bad" in ended.stderr
    assert len(list(tmp_path.glob("reports/few-pods/*/verdict.json"))) == 1
