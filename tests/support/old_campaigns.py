"""Folders of reports with campaigns whose runs are small files."""

import json
import os
import pathlib

import msgspec

from harness import clocks
from harness.campaign import campaign_plan, results
from harness.history import campaign_folders
from tests.support import shards

KIB = 1024
PLAN = shards.campaign(subjects=2, controls=1)
NAMES = [f"2026010{day}T000000Z-7" for day in range(1, 6)]


def run_directory(reports: pathlib.Path, name: str, campaign: str) -> pathlib.Path:
    """A run with 64 KiB of evidence."""
    folder = reports / "pod-churn" / name
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps({"campaign": campaign}))
    (folder / "verdict.json").write_text("{}")
    (folder / "report.html").write_text("a page")
    (folder / "observations.jsonl").write_bytes(os.urandom(64 * KIB))
    return folder


def campaign(
    reports: pathlib.Path, name: str, *worse: results.RunResult, has_ended: bool = True
) -> list[pathlib.Path]:
    """A campaign whose runs are as expected, but for some; returns their directories."""
    folder = reports / "campaigns" / name
    folder.mkdir(parents=True)
    changed = {result.number: result for result in worse}
    made = [changed.get(run.number, shards.result(run)) for run in PLAN.runs]
    places = [run_directory(reports, f"{name}-{result.number}", name) for result in made]
    lines = [
        msgspec.structs.replace(result, directory=str(place))
        for result, place in zip(made, places, strict=True)
    ]
    plan = msgspec.structs.replace(PLAN, pid=os.getpid(), boot_id=clocks.boot_id())
    campaign_plan.write(folder / campaign_folders.PLAN, plan)
    (folder / campaign_folders.RESULTS).write_bytes(shards.lines(lines))
    if has_ended:
        (folder / campaign_folders.DOCUMENT).write_text('{"verdict": "VALID", "summary": ""}')
    return places


def left(reports: pathlib.Path) -> list[str]:
    return sorted(path.name for path in (reports / "campaigns").iterdir())
