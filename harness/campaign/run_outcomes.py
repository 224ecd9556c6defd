"""The outcome of a planned run's attempts as a test: passed, failed or inconclusive."""

import pathlib
from collections.abc import Sequence

from harness.campaign import results
from harness.checks import verdicts


def failure(attempts: Sequence[results.RunResult]) -> str:
    """Return why the run fails: the subject is INVALID, or what must be found was not.

    Empty: it does not fail.
    """
    last = attempts[-1]
    if last.is_regression:
        return f"INVALID: {_unexplained(last)}, which {last.hypothesis} does not explain: {last.reason}"
    if last.is_against_subject:
        return f"INVALID: {last.reason}"
    if last.is_missed:
        return (
            f"{last.purpose.missed}, attempts: {len(attempts)}; "
            f"the last one was {last.verdict}: {last.reason}"
        )
    return ""


def _unexplained(run: results.RunResult) -> str:
    if run.by_one_scheduler:
        return f"{run.by_one_scheduler} double allocations of one scheduler by itself"
    return "violations of another kind" if run.is_violated else "a threshold that was not met"


def inconclusive(attempts: Sequence[results.RunResult]) -> str:
    """Return why the run is inconclusive: it is UNKNOWN, or has no result.

    Empty: it is conclusive.
    """
    last = attempts[-1]
    if last.cut:
        return ""
    if last.missing:
        return f"UNKNOWN: {last.reason}"
    if last.error:
        return f"ERROR: the run could not be executed: {last.error}"
    if not (last.purpose.is_sought or last.is_against_subject):
        return "" if last.verdict is verdicts.Verdict.VALID else f"UNKNOWN: {last.reason}"
    return ""


def skipped(attempts: Sequence[results.RunResult]) -> str:
    """Return why the run counts as not made: it was cut. Empty: it counts."""
    return attempts[-1].reason if attempts[-1].cut else ""


def story(attempts: Sequence[results.RunResult]) -> str:
    """Return one line for each attempt; controls and hazards are marked as found or not."""
    lines = [f"attempt {number}: {_line(run)}" for number, run in enumerate(attempts, start=1)]
    return "\n".join(lines) + "\n"


def _line(run: results.RunResult) -> str:
    if run.error:
        return f"ERROR {run.error}"
    place = "/".join(pathlib.PurePath(run.directory).parts[-2:])  # in the folder of reports
    return f"{run.verdict}{_mark(run)} {run.reason} {place}".rstrip()


def _mark(run: results.RunResult) -> str:
    if not run.purpose.is_sought:
        return ""
    return f" ({run.purpose.found})" if run.is_found else f" (not {run.purpose.found})"
