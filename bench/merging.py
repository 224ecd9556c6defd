"""Shards of a campaign over machines: 20 of them with 1,000 runs, planned and merged.

CPU time, the best of three; the commands' includes their imports.
"""

import pathlib
import sys
import tempfile
from collections.abc import Iterator

from bench import cpu_time
from harness.campaign.sharding import merging, sharded_plans
from tests.support import shards

SHARDS, RUNS, CONTROLS = 20, 1000, 100


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure the plan's file, and the merge in this process and as a command."""
    plan = shards.plan(subjects=RUNS - CONTROLS, controls=CONTROLS, shards=SHARDS)
    what = f"{SHARDS} shards of {RUNS:,} runs"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        given = shards.every_folder(root, plan)
        yield f"merge {what}: the command", _of_command(given, root / "command"), "s CPU"
        yield f"merge {what}", cpu_time.of_call(lambda: _merge(given, root / "merged")), "s CPU"
        path = root / "plan.json"
        yield (
            f"write and read the plan of {what}",
            cpu_time.of_call(lambda: _write_and_read(path, plan)),
            "s CPU",
        )
        yield f"the plan of {what}", path.stat().st_size / 2**20, "MiB"


def _merge(given: list[str], target: pathlib.Path) -> None:
    merged = merging.write(merging.read(given), target)
    if merged.campaign.exit_code or len(merged.results) != RUNS:
        raise AssertionError("expected every run to be merged")


def _write_and_read(path: pathlib.Path, plan: sharded_plans.ShardedPlan) -> None:
    sharded_plans.write(path, plan)
    sharded_plans.read(path)


def _of_command(given: list[str], target: pathlib.Path) -> float:
    command = [sys.executable, "-m", "harness", "shards", "merge", *given, "-o", str(target)]
    return cpu_time.of_command(command)
