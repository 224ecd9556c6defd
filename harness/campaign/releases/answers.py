"""The answer of one run about a finding: shown, not shown, or undecided."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from harness import errors
from harness.campaign import results
from harness.checks import verdict_files, verdicts
from harness.checks.certificate import script_items
from harness.history import directories

Word = Literal["shown", "not shown", "undecided"]
REASON_MAX = 400
"""Characters of a reason; the run's own page has all."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one run."""

    word: Word
    reason: str
    """The violation, or why nothing is decided; empty: it is VALID."""
    others: list[str] = []
    """Checks that found something else."""


def of_run(result: results.RunResult, checks: Sequence[str]) -> Answer:
    """Return what a run says, if one of these checks finds the violation (none named: any check).

    A violation of another guarantee is not the finding: `others` has it.
    """
    if result.error or not result.directory:
        return Answer(word="undecided", reason=_short(result.error or result.reason))
    try:
        document = verdict_files.read(directories.RunDirectory(pathlib.Path(result.directory)))
    except errors.VerdictError as error:
        return Answer(word="undecided", reason=_short(str(error)))
    return of_verdict(document, checks)


def of_verdict(document: Mapping[str, Any], checks: Sequence[str]) -> Answer:
    """Return what the document in verdict.json says, as `of_run`."""
    broken = [item for item in document["checks"] if item["violation_count"]]
    found = [item for item in broken if not checks or item["check"] in checks]
    others = [item["check"] for item in broken if item not in found]
    if found:
        (first, *_) = found[0]["violations"] or [{"summary": found[0]["reason"]}]
        return Answer(word="shown", reason=_short(first["summary"]), others=others)
    if document["verdict"] == verdicts.Verdict.VALID:
        return Answer(word="not shown", reason="")
    missing = _missing(document["certificate"]) or _undecided(document["checks"], checks)
    if missing or not others:
        return Answer(word="undecided", reason=_short(missing or document["reason"]), others=others)
    return Answer(
        word="not shown", reason=f"but {', '.join(others)} found something", others=others
    )


def _missing(certificate: Sequence[Mapping[str, Any]]) -> str:
    """Return the first item that does not hold, that of the script before others; empty: all do."""
    missing = [item for item in certificate if not item["ok"] and item.get("needed", True)]
    of_script = [item for item in missing if item["name"] == script_items.NAME]
    if of_script:
        return f"the script was not followed: {of_script[0]['reason']}"
    return str(missing[0]["reason"]) if missing else ""


def _undecided(found: Sequence[Mapping[str, Any]], checks: Sequence[str]) -> str:
    """Return why one of these checks has not decided; empty: each has."""
    left = (item for item in found if item["check"] in checks)
    return next((item["reason"] for item in left if item["verdict"] == "UNKNOWN"), "")


def _short(text: str) -> str:
    return text if len(text) <= REASON_MAX else f"{text[:REASON_MAX]}…"
