"""The history of campaigns with a time budget, one line for each night of a workflow."""

import pathlib
import shutil
from collections.abc import Sequence

import msgspec

from harness import clocks, errors, regular_files, writing
from harness.campaign import campaign_documents, campaign_plan, results, summaries
from harness.campaign.purposes import Purpose
from harness.checks import verdicts

HISTORY = "nights.jsonl"
"""Name of the history file in the reports folder; one line per night."""
JUNIT = "nightly-junit.xml"
"""Name of the newest night's JUnit file in the reports folder."""
_SHOWN = 14
_INVALID = verdicts.Verdict.INVALID.exit_code
_WORDS = {0: "ok", _INVALID: "INVALID", **dict.fromkeys(results.ERRORS, "ERROR")}


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the history."""

    ended: str
    """UTC time at which the night ended, as text."""
    cluster: str
    subject: str
    seed: int
    campaigns: int = 1
    """1; older versions made one campaign after the other."""
    runs: int
    """Runs of the tested subject, without the controls."""
    valid: int
    double_allocations: int
    stuck: int = 0
    """Objects that could go on and did not; 0 in lines of older versions."""
    controls: int
    caught: int
    """Controls that were caught at least once."""
    failed: int
    """Runs that could not be executed."""
    seconds: float
    """Duration of the night, in seconds."""
    exit_code: int


def night(
    found: Sequence[results.RunResult],
    document: campaign_documents.CampaignDocument,
    plan: campaign_plan.CampaignPlan,
    *,
    subject: str,
    seconds: float,
) -> Night:
    """Return the history line of a campaign."""
    table = results.rows(found)
    tested = [run for row in results.of_purpose(table, Purpose.SUBJECT) for run in row.runs]
    controls = results.of_purpose(table, Purpose.CONTROL)
    return Night(
        ended=clocks.wall_text(),
        cluster=document.cluster,
        subject=subject,
        seed=plan.seed,
        runs=len(tested),
        valid=sum(run.verdict is verdicts.Verdict.VALID for run in tested),
        double_allocations=sum(run.double_allocations for run in tested),
        stuck=sum(run.stuck for run in tested),
        controls=len(controls),
        caught=sum(row.caught > 0 for row in controls),
        failed=sum(bool(run.error) for run in found),
        seconds=round(seconds, 1),
        exit_code=document.exit_code,
    )


def remember(reports: pathlib.Path, entry: Night, *, campaign: pathlib.Path) -> list[Night]:
    """Append the night to the history, and copy the JUnit file of its campaign.

    Returns all nights, the newest last.
    """
    junit, path = campaign / summaries.JUNIT_NAME, reports / HISTORY
    if junit.is_file():
        with writing.explained(reports / JUNIT):
            shutil.copyfile(junit, reports / JUNIT)
    with writing.explained(path), path.open("ab") as file:
        file.write(msgspec.json.encode(entry) + b"\n")
    return read(path)


def read(path: pathlib.Path) -> list[Night]:
    """Read all nights of a history file.

    Raises UsageError for a damaged line.
    """
    nights = []
    for number, line in enumerate(regular_files.content(path).splitlines(), start=1):
        try:
            nights.append(msgspec.json.decode(line, type=Night))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise errors.UsageError(
                f"{path}:{number}: expected a night ({error}); remove the line"
            ) from error
    return nights


def markdown(history: Sequence[Night]) -> str:
    """Return the figures of the newest night, and how the last ones ended, in Markdown."""
    words = " ".join(_WORDS.get(item.exit_code, "UNKNOWN") for item in history[-_SHOWN:])
    shown = min(len(history), _SHOWN)
    return f"\n{_figures(history[-1])}\n\nThe last {shown} nights, oldest first: {words}\n"


def _figures(entry: Night) -> str:
    stuck = f" and {entry.stuck} stuck objects" * (entry.stuck > 0)
    return (
        f"{entry.subject} on {entry.cluster}: {entry.double_allocations} double allocations{stuck} in "
        f"{entry.runs} runs, {entry.valid} of them VALID; {entry.caught} of {entry.controls} "
        f"positive controls caught; {entry.failed} runs failed with an error. Seed {entry.seed}, "
        f"{entry.seconds / 60:.1f} minutes."
    )
