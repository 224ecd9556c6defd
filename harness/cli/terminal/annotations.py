"""Annotations of GitHub Actions: workflow commands on stdout if `GITHUB_ACTIONS` is `true`."""

import os
from typing import TYPE_CHECKING

from harness.report import escaping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.campaign import campaign_thresholds
    from harness.checks import verdict_files
    from harness.history import results


def error(title: str, message: str) -> None:
    """Print an error annotation."""
    _print("error", title, message)


def warning(title: str, message: str) -> None:
    """Print a warning annotation."""
    _print("warning", title, message)


def of_judgement(judgement: "verdict_files.Judgement") -> None:
    """Annotate a run: INVALID is an error, UNKNOWN a warning."""
    from harness.checks import verdicts

    title = f"{judgement.verdict} {judgement.scenario}"
    if judgement.verdict is verdicts.Verdict.INVALID:
        error(title, judgement.reason)
    elif judgement.verdict is verdicts.Verdict.UNKNOWN:
        warning(title, judgement.reason)


def of_campaign(table: "Iterable[results.Row]") -> None:
    """Annotate every unexpected run, and every control or hazard that no attempt found."""
    for row in table:
        if row.purpose.must_fail:
            _of_expected_failure(row)
        else:
            for run in row.runs:
                _of_run(run)


def of_thresholds(found: "Iterable[campaign_thresholds.Result]") -> None:
    """Annotate the thresholds of a campaign: one that is not met is an error, UNKNOWN a warning."""
    from harness.checks import verdicts

    for item in found:
        title = f"{item.verdict} {item.scenario}, {item.subject}"
        if item.verdict is verdicts.Verdict.INVALID:
            error(title, item.sentence)
        elif item.verdict is verdicts.Verdict.UNKNOWN:
            warning(title, item.sentence)


def _of_expected_failure(row: "results.Row") -> None:
    for text in row.errors:
        error(f"ERROR {row.scenario}, {row.subject}", text)
    if not row.caught and not row.errors:
        error(
            f"{row.purpose.missed}: {row.scenario}, {row.subject}",
            f"runs: {len(row.runs)}; the last one was {row.runs[-1].verdict}: {row.runs[-1].reason}",
        )


def _of_run(run: "results.RunResult") -> None:
    from harness.checks import verdicts

    where = f"{run.scenario}, {run.subject}"
    if run.error:
        error(f"ERROR {where}", run.error)
    elif run.verdict is verdicts.Verdict.INVALID:
        error(f"INVALID {where}", run.reason)
    elif run.verdict is not verdicts.Verdict.VALID:
        warning(f"UNKNOWN {where}", run.reason)


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
