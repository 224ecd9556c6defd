"""The results of a shard, by run, with the run directories that confirm them.

Runs are not judged again: plan.json and verdict.json are read. A result that says that all was as
expected counts only with them. Where the two differ the worse one counts. A result against the
subject counts also without them, so that what was found is not lost with a folder.
"""

import enum
import pathlib
from collections import defaultdict
from collections.abc import Mapping

import msgspec

from harness import errors, seeds
from harness.campaign import campaign_plan
from harness.history import campaign_folders, files, results, run_folders, subject_names
from harness.model import answers

Attempts = list[results.RunResult]
"""All attempts of one planned run, in order; a run without further attempts has one."""
Planned = Mapping[int, campaign_plan.PlannedRun]


class Rank(enum.IntEnum):
    """Results of a run, those first that count if it was made more than once."""

    UNEXPECTED = 0
    """INVALID, a control that was missed, or a regression."""
    UNKNOWN = 1
    EXPECTED = 2
    ERROR = 3
    """Says nothing about the subject."""


def rank(attempts: Attempts) -> Rank:
    """Return how much the result of a run speaks against the subject, or against the campaign."""
    last = attempts[-1]
    if last.error:
        return Rank.ERROR
    if last.is_regression or last.is_missed or last.is_against_subject:
        return Rank.UNEXPECTED
    return Rank.UNKNOWN if last.verdict is answers.Verdict.UNKNOWN else Rank.EXPECTED


def read(
    content: bytes, planned: Planned, reports: pathlib.Path | None = None
) -> tuple[dict[int, Attempts], list[str]]:
    """Return the results in a results.jsonl, by the numbers of their runs, and its problems.

    None for `reports`: run directories confirm none.
    `reports` is the folder of reports that the shard is in: it was perhaps copied from another
    machine. A line that is no whole result of a planned run is left out with a problem; a run that
    has not ended is left out without.
    """
    made: dict[int, Attempts] = defaultdict(list)
    problems: list[str] = []
    doubted: set[int] = set()
    for at, line in enumerate(content.splitlines(keepends=True), start=1):
        try:
            result, problem = _result(line, planned), ""
        except errors.HistoryError as error:
            problems.append(f"{results.FILE}:{at}: {error}")
            continue
        if reports is not None and not result.error:
            result, problem = _confirmed(result, planned[result.number], reports)
        made[result.number].append(result)
        if problem:
            doubted.add(result.number)
            problems.append(f"{results.FILE}:{at}: {problem}")
    for number, attempts in made.items():
        if [result.attempt for result in attempts] != list(range(len(attempts))):
            doubted.add(number)
            problems.append(f"{planned[number].id}: expected each of its attempts once, in order")
            attempts[:] = [min(attempts, key=lambda result: rank([result]))]
    whole = {
        number: attempts
        for number, attempts in made.items()
        if not attempts[-1].is_tried_again
        and not (number in doubted and rank(attempts) is Rank.EXPECTED)
    }
    return whole, problems


def _result(line: bytes, planned: Planned) -> results.RunResult:
    """Return the result of a line; raise HistoryError if it is no whole one of a planned run."""
    try:
        result = files.decoded(line, results.RunResult)
    except errors.HistoryError as error:
        raise errors.HistoryError(f"expected a result ({error})") from error
    run = planned.get(result.number)
    was_made = not (result.missing or result.cut) and bool(result.error) == (result.verdict is None)
    if (
        run is None
        or not (line.endswith(b"\n") and was_made and result.attempt < run.purpose.attempts)
        or (*result.kind, result.shows_otherwise) != (*run.kind, run.shows_otherwise)
    ):
        raise errors.HistoryError(
            "expected a whole result of a run of this plan, got number "
            f"{result.number} ({result.scenario!r:.60})"
        )
    return result


def _confirmed(
    result: results.RunResult, run: campaign_plan.PlannedRun, reports: pathlib.Path
) -> tuple[results.RunResult, str]:
    """Return the result that counts of one attempt, and what is wrong; empty: nothing."""
    if not result.directory:
        return result, "it names no run directory"
    place = campaign_folders.directory_in(reports, result)
    result = msgspec.structs.replace(result, directory=str(place))
    try:
        folder = run_folders.read(place)
    except errors.RunDirectoryError as error:
        return result, str(error)
    plan, verdict = folder.plan, folder.verdict
    if plan is None or verdict is None:
        return result, f"{place}: {folder.problem}"
    seed = seeds.Seeds(run.seed).derive(result.attempt) if result.attempt else run.seed
    made = (plan.scenario, plan.seed, plan.defects, plan.remedies, plan.release)
    is_of_run = made == (run.title, seed, run.defects, run.remedies, run.release)
    if not is_of_run or run.tested not in ("", subject_names.of_plan(plan)):
        return result, f"{place}: it is the directory of another run"
    said = verdict.of_result
    differing = [name for name, value in said.items() if getattr(result, name) != value]
    if not differing:
        return result, ""
    problem = f"{place}: verdict.json says {verdict.verdict} ({verdict.reason:.200}), and "
    problem += f"{results.FILE} says {result.verdict} ({', '.join(differing)} differ)"
    if verdict.verdict is answers.Verdict.INVALID and not run.purpose.is_sought:
        result = msgspec.structs.replace(result, **said, reason=problem)
    return result, problem
