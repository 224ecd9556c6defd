"""Annotations of GitHub Actions: workflow commands on stdout if `GITHUB_ACTIONS` is `true`."""

import os
from typing import TYPE_CHECKING

from harness.checks import verdicts
from harness.report import escaping

if TYPE_CHECKING:
    from harness.campaign import campaign_documents
    from harness.checks import verdict_files


def error(title: str, message: str) -> None:
    _print("error", title, message)


def of_judgement(judgement: "verdict_files.Judgement") -> None:
    _of_verdict(judgement.verdict, judgement.scenario, judgement.reason)


def of_campaign(document: "campaign_documents.CampaignDocument") -> None:
    """Annotate each row that is not as expected, and each threshold that is not met, or UNKNOWN."""
    from harness.campaign import campaign_pages

    for row in document.rows:
        if not row.is_as_expected:
            is_missed = row.purpose.must_fail and not (row.caught or row.errors)
            level = "warning" if row.word == verdicts.Verdict.UNKNOWN else "error"
            _print(
                "error" if is_missed else level,
                f"{f'{row.purpose.missed}:' if is_missed else row.word} {row.scenario}, {row.subject}",
                campaign_pages.unexpected(row),
            )
    for item in document.thresholds:
        _of_verdict(item.verdict, f"{item.scenario}, {item.subject}", item.sentence)


def _of_verdict(verdict: verdicts.Verdict, where: str, message: str) -> None:
    if verdict is not verdicts.Verdict.VALID:
        level = "error" if verdict is verdicts.Verdict.INVALID else "warning"
        _print(level, f"{verdict} {where}", message)


def _print(level: str, title: str, message: str) -> None:
    """Print a command, escaped as the toolkit of GitHub Actions does it."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        title = _data(title).replace(":", "%3A").replace(",", "%2C")
        print(escaping.visible(f"::{level} title={title}::{_data(message)}"), flush=True)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
