"""Cells of the table of releases, and runs with verdicts, without any program."""

import json
import pathlib
from typing import Any

from harness.campaign import results
from harness.campaign.releases import cells, ledgers, programs, questions
from harness.checks import verdicts

VALID, UNKNOWN, INVALID = verdicts.Verdict


def question(**fields: Any) -> questions.Question:
    return questions.Question(
        **{
            "finding": "H1",
            "title": "The answer is lost",
            "scenario": "h01-lost-answer",
            "program": programs.SCHEDULER,
            "group": "hazard",
            "checks": ["device_exclusivity"],
            "is_script": True,
            **fields,
        }
    )


def release(version: str = "1.36.3") -> programs.Release:
    return programs.Release(
        program=programs.SCHEDULER, version=version, path=f"/x/{version}", digest="sha256:b"
    )


def key(**fields: str) -> ledgers.Key:
    return ledgers.Key(
        **{
            "scenario": "h01-lost-answer",
            "program": "kube-scheduler 1.36.3",
            "binary": "sha256:b",
            "text": "sha256:t",
            "harness": "sha256:h",
            "cluster": "sha256:c",
            **fields,
        }
    )


def cell(version: str = "1.36.3", *, impossible: str = "") -> cells.Cell:
    of = key(program=f"kube-scheduler {version}")
    return cells.Cell(question=question(), release=release(version), key=of, impossible=impossible)


def verdict(
    word: verdicts.Verdict, *broken: str, missing: str = "", script: str = ""
) -> dict[str, Any]:
    """A verdict.json: checks with a violation each, and an item of the certificate that does not
    hold.
    """
    items = {"complete": missing, "script": script}
    return {
        "schema": verdicts.SCHEMA_VERSION,
        "verdict": str(word),
        "reason": "its reason",
        "evidence": {},
        "checks": [
            {
                "check": name,
                "violation_count": 1,
                "reason": "",
                "violations": [{"summary": f"{name} is broken"}],
            }
            for name in broken
        ],
        "certificate": [
            {"name": name, "ok": not reason, "needed": True, "reason": reason}
            for name, reason in items.items()
        ],
    }


def run(
    folder: pathlib.Path, name: str, document: dict[str, Any], **fields: Any
) -> results.RunResult:
    """A run of this name in a folder of reports."""
    directory = folder / "h01-lost-answer" / name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "verdict.json").write_text(json.dumps(document))
    known = {"scenario": "h01-lost-answer", "subject": "x", "seconds": 2.0}
    return results.RunResult(**{**known, "directory": str(directory), **fields})


def made(result: results.RunResult, **of: str) -> ledgers.MadeRun:
    return ledgers.MadeRun(key=key(**of), commit="abc", made="2026-11-26T15:00:00Z", result=result)
