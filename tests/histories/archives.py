"""Folders of reports with run directories and campaigns, judged, without a run."""

import json
import pathlib
from collections.abc import Mapping, Sequence
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
    """A judged run `<reports>/<scenario>/<name>` whose run id is its name."""
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


def edit_figures(directory: directories.RunDirectory, **figures: Any) -> None:
    """Change figures in verdict.json; a number for a latency becomes its quantiles."""
    document = json.loads(directory.verdict.read_bytes())
    for name, value in figures.items():
        is_latency = isinstance(document["figures"][name], dict)
        quantiles = {"p50_ms": value, "p90_ms": 2 * value, "p99_ms": 3 * value}
        document["figures"][name] = {"count": 9, **quantiles} if is_latency else value
    directory.verdict.write_text(json.dumps(document))


def campaign(
    reports: pathlib.Path,
    name: str,
    runs: Sequence[directories.RunDirectory],
    *,
    planned: int | None = None,
    document: Mapping[str, Any] | None = None,
) -> pathlib.Path:
    """A campaign of these runs; `document` None: it has not ended."""
    folder = reports / "campaigns" / name
    folder.mkdir(parents=True)
    plan = {"seed": 7, "cluster": {"name": "embedded"}, "runs": [{}] * (planned or len(runs))}
    (folder / "campaign.json").write_text(json.dumps(plan))
    lines = [
        json.dumps(
            {
                "scenario": made.path.parent.name,
                "subject": "correct",
                "directory": str(made.path),
                "verdict": json.loads(made.verdict.read_bytes())["verdict"],
            }
        )
        for made in runs
    ]
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    if document is not None:
        (folder / "results.json").write_text(json.dumps(document))
    return folder
