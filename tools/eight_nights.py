"""Make eight nights of real runs, the last with a scheduler that has become slower and wrong.

    .venv/bin/python tools/eight_nights.py FOLDER

The subject is `examples/scheduler.py`. Before the last night it gets two changes: it waits before
each pod, and some of its plans use the list of claims that the plan before it used, so that about
one run in five gives a device twice. The page of trends must name both changes. This takes about
a quarter of an hour on two cores; with fewer --runs it is shorter, and less is found.

Exit code 0 if the last night is found to be worse by its rate and by its speed, otherwise 1.
"""

import argparse
import json
import pathlib
import subprocess
import sys
from typing import Any

from harness.comparison.trends import changes
from harness.scenario import examples

NIGHTS = changes.NIGHTS_MIN + 1
SUBJECT = f"command={sys.executable} scheduler.py {{kubeconfig}} {{scheduler_name}}"
NEEDED = {"rate of INVALID", "throughput"}
"""Measures whose changes for the worse must be found."""
SCENARIO = """
schema_version = 1
name = "small-churn"
title = "a small churn"
description = "a short run, for nights of many"

[pools]
nodes = 2
devices_per_node = 3

[traffic]
profile = "churn"
users = 8
duration_s = 1.5
hold_s = 0.3
wait_s = 10.0

[load]
allocations_min = 1
pods_running_min = 1
reuse_min = 0
"""
CHANGES = (
    ("import pathlib\n", "import pathlib\nimport random\n"),
    (
        "    claims, meta = claims_of(pod), pod",
        "    time.sleep(0.08)\n    claims, meta = claims_of(pod), pod",
    ),
    (
        '    claims = call("GET", f"{DRA}/resourceclaims")["items"]\n',
        (
            "    if not SEEN or random.random() > 0.02:\n"
            '        SEEN[:] = call("GET", f"{DRA}/resourceclaims")["items"]\n'
            "    claims = list(SEEN)\n"
        ),
    ),
    ("\n\nwhile True:", "\n\nSEEN = []\nwhile True:"),
)
"""Old and new text of each change of the scheduler."""


def make(folder: pathlib.Path, runs: int) -> int:
    """Make the nights in an empty folder, and return the exit code."""
    examples.copy(folder)
    (folder / "small-churn.toml").write_text(SCENARIO)
    for number in range(1, NIGHTS + 1):
        if number == NIGHTS:
            _change(folder / "scheduler.py")
        print(f"night {number}", flush=True)
        hunt = ("hunt", "small-churn.toml", "--subject", SUBJECT, "--repeat", str(runs), "--quiet")
        _flake_hunt(folder, *hunt, "--seed", str(number))
    _flake_hunt(folder, "trends", "add", "reports")
    summary = ("--summary", str(folder / "summary.md"))
    printed = _flake_hunt(folder, "trends", "page", *summary, "--output", "json")
    return _judge(json.loads(printed), folder)


def _change(scheduler: pathlib.Path) -> None:
    text = scheduler.read_text()
    for old, new in CHANGES:
        if text.count(old) != 1:
            raise ValueError(f"expected this once in {scheduler.name}: {old!r}")
        text = text.replace(old, new)
    scheduler.write_text(text)


def _flake_hunt(folder: pathlib.Path, *arguments: str) -> str:
    """Run the command, which may find something, and return its standard output."""
    command = [sys.executable, "-m", "harness", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 10):
        raise SystemExit(f"flake-hunt {arguments[0]} ended with exit code {done.returncode}")
    return done.stdout


def _judge(trend: dict[str, Any], folder: pathlib.Path) -> int:
    newest = trend["nights"][-1]["started"]
    found = [item for item in trend["changes"] if item["started"] == newest]
    worse = {item["measure"] for item in found if item["is_worse"]}
    print(trend["summary"])
    print(f"  {folder / 'reports' / 'trends.html'}")
    missing = NEEDED - worse
    if missing:
        print(f"expected that these got worse: {', '.join(sorted(missing))}", file=sys.stderr)
    return 1 if missing else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make eight nights, the last one worse.")
    parser.add_argument("folder", type=pathlib.Path, help="a folder that is empty, or is not there")
    parser.add_argument("--runs", type=int, default=15, help="runs of each night (default: 15)")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    sys.exit(make(given.folder.resolve(), given.runs))
