"""Folders of reports with run directories and campaigns, judged, without a run."""

import hashlib
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.checks import judging, verdict_files
from harness.history import directories
from tests.histories import building

TEXTS = {"VALID": "a+D1 a^p p* a~ b+D2 b^q q*", "UNKNOWN": "p*", "INVALID": "a+D1 b+D1"}
"""Verdict -> a history that has it."""


def run(
    reports: pathlib.Path,
    name: str,
    verdict: str = "VALID",
    *,
    scenario: str = building.SCENARIO,
    changes: Mapping[str, Any] | None = None,
) -> directories.RunDirectory:
    made = building.build(
        reports / scenario / name,
        TEXTS[verdict],
        scenario=scenario,
        run_id=name,
        changes=changes,
        sealed=True,
    )
    verdict_files.write(made, judging.judge(made))
    return made


def repeated(
    made: directories.RunDirectory,
    count: int,
    *,
    plan: Mapping[str, Any] | None = None,
) -> list[directories.RunDirectory]:
    """Runs beside a judged one with its plan and its verdict.

    `plan`: keys of the plan that differ.
    They have the small files only, which are all that summaries read.
    """
    return [_copy(made, number, plan or {}) for number in range(count)]


def _copy(
    made: directories.RunDirectory, number: int, plan: Mapping[str, Any]
) -> directories.RunDirectory:
    name = f"{made.path.name}-{number:05}"
    copy = directories.create(made.path.with_name(name))
    copy.manifest.write_bytes(made.manifest.read_bytes())
    planned = json.loads(made.plan.read_bytes()) | {"run_id": name} | dict(plan)
    copy.plan.write_text(json.dumps(planned))
    verdict = json.loads(made.verdict.read_bytes()) | {"run_id": name}
    digest = hashlib.sha256(copy.plan.read_bytes()).hexdigest()
    verdict["evidence"]["plan.json"] = f"sha256:{digest}"
    copy.verdict.write_text(json.dumps(verdict))
    return copy


def campaign(
    reports: pathlib.Path,
    name: str,
    runs: Sequence[directories.RunDirectory],
    *,
    planned: int | None = None,
    document: Mapping[str, Any] | None = None,
    purpose: Callable[[int], str] = lambda number: "subject",
) -> pathlib.Path:
    """A campaign of these runs; `document` None: it has not ended.

    `purpose` returns that of the run with this place.
    """
    folder = reports / "campaigns" / name
    folder.mkdir(parents=True)
    plan = {"seed": 7, "cluster": {"name": "embedded"}, "runs": [{}] * (planned or len(runs))}
    (folder / "campaign.json").write_text(json.dumps(plan))
    lines = [
        json.dumps(
            {
                "scenario": made.path.parent.name,
                "subject": "correct",
                "purpose": purpose(number),
                "directory": str(made.path),
                "verdict": json.loads(made.verdict.read_bytes())["verdict"],
            }
        )
        for number, made in enumerate(runs)
    ]
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    if document is not None:
        (folder / "results.json").write_text(json.dumps(document))
    return folder
