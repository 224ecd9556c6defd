"""The outcome of a planned run's attempts as a test: passed, failed or inconclusive."""

from collections.abc import Sequence

from harness.campaign import results
from harness.checks import verdicts


def failure(attempts: Sequence[results.RunResult]) -> str:
    """Return why the run fails: the correct subject is INVALID, or a control was not caught.

    Empty: it does not fail.
    """
    last = attempts[-1]
    if not last.is_control and last.verdict is verdicts.Verdict.INVALID:
        return f"INVALID: {last.reason}"
    if last.is_control and not last.error and last.verdict is not verdicts.Verdict.INVALID:
        return (
            f"control not caught, attempts: {len(attempts)}; "
            f"the last one was {last.verdict}: {last.reason}"
        )
    return ""


def inconclusive(attempts: Sequence[results.RunResult]) -> str:
    """Return why the run is inconclusive: it is UNKNOWN or could not be executed.

    Empty: it is conclusive.
    """
    last = attempts[-1]
    if last.error:
        return f"ERROR: the run could not be executed: {last.error}"
    if not last.is_control and last.verdict is not verdicts.Verdict.INVALID:
        return "" if last.verdict is verdicts.Verdict.VALID else f"UNKNOWN: {last.reason}"
    return ""


def story(attempts: Sequence[results.RunResult]) -> str:
    """Return one line for each attempt; a control is marked as caught or not caught."""
    lines = [f"attempt {number}: {_line(run)}" for number, run in enumerate(attempts, start=1)]
    return "\n".join(lines) + "\n"


def _line(run: results.RunResult) -> str:
    if run.error:
        return f"ERROR {run.error}"
    is_caught = run.verdict is verdicts.Verdict.INVALID
    control = (" (caught)" if is_caught else " (not caught)") if run.is_control else ""
    return f"{run.verdict}{control} {run.reason} {run.directory}".rstrip()
