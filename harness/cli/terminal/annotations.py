"""Annotations of GitHub Actions: workflow commands on stdout if `GITHUB_ACTIONS` is `true`."""

import os
from typing import TYPE_CHECKING

from harness.checks import verdicts
from harness.report import escaping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.campaign import campaign_documents
    from harness.checks import verdict_files
    from harness.history import results


def error(title: str, message: str) -> None:
    _print("error", title, message)


def of_judgement(judgement: "verdict_files.Judgement") -> None:
    _of_verdict(judgement.verdict, judgement.scenario, judgement.reason)


def of_campaign(table: "Iterable[results.Row]") -> None:
    """Annotate every unexpected run, and every control or hazard that no attempt found."""
    for row in table:
        where = f"{row.scenario}, {row.subject}"
        if not row.purpose.must_fail:
            for run in row.runs:
                if run.error:
                    error(f"ERROR {where}", run.error)
                else:
                    _of_verdict(run.verdict or verdicts.Verdict.UNKNOWN, where, run.reason)
            continue
        for text in row.errors:
            error(f"ERROR {where}", text)
        if not row.caught and not row.errors:
            last = f"the last one was {row.runs[-1].verdict}: {row.runs[-1].reason}"
            error(f"{row.purpose.missed}: {where}", f"runs: {len(row.runs)}; {last}")


def of_thresholds(found: "Iterable[campaign_documents.ThresholdResult]") -> None:
    """Annotate the thresholds of a campaign: one that is not met is an error, UNKNOWN a warning."""
    for item in found:
        _of_verdict(item.verdict, f"{item.scenario}, {item.subject}", item.sentence)


def _of_verdict(verdict: verdicts.Verdict, where: str, message: str) -> None:
    if verdict is not verdicts.Verdict.VALID:
        level = "error" if verdict is verdicts.Verdict.INVALID else "warning"
        _print(level, f"{verdict} {where}", message)


def _print(level: str, title: str, message: str) -> None:
    if os.environ.get("GITHUB_ACTIONS") == "true":
        line = f"::{level} title={_property(title)}::{_data(message)}"
        print(escaping.visible(line), flush=True)


def _data(text: str) -> str:
    """Escape a message as the toolkit of GitHub Actions does (`escapeData`)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property as the toolkit of GitHub Actions does (`escapeProperty`)."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
