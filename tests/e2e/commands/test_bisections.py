"""git asks, and names the commit to blame."""

import os
import pathlib
import re
import subprocess
import sys

from tests.support.bisected import commits

ROOT = pathlib.Path(__file__).parents[3]
PROGRAM = f"{sys.executable} {commits.PROGRAM} {{kubeconfig}} {{scheduler_name}}"
STEP = (sys.executable, "-m", "harness.cli.main", "test", PROGRAM, f"./{commits.SCENARIO}")
ALWAYS_THE_FIRST = ("take any device", "if found[1] not in used | IN_FLIGHT", "if found")
HARMLESS = ("wait longer", "TIMEOUT_S = 2, 0.05, 30", "TIMEOUT_S = 2, 0.05, 60")


def test_git_names_the_commit_and_one_invalid_run_was_enough(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "repository"
    made = commits.of_changes(folder, [ALWAYS_THE_FIRST, HARMLESS])
    git = ("git", "-C", str(folder), "bisect")
    subprocess.run([*git, "start", made[-1], made[0]], check=True, capture_output=True)
    ended = subprocess.run(
        [*git, "run", *STEP, "--bisect", "--quiet", "--jobs", "1"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    named = re.search(r"^([0-9a-f]{40}) is the first bad commit", ended.stdout, re.MULTILINE)
    assert named, ended.stdout + ended.stderr
    assert named[1] == made[1]
    assert "bisect: bad" in ended.stderr
    assert len(list(folder.glob("reports/few-pods/*/verdict.json"))) == 1
