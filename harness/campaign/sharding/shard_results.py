"""Results of a shard: grouped by run, with the run directories that confirm them.

Runs are not judged again: plan.json and verdict.json are read. A result that says that all was as
expected counts only with them. Where the two differ the worse one counts. A result against the
subject counts also without them, so that what was found is not lost with a folder.
"""

import enum
import os
import pathlib
from collections import defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from harness import errors, seeds
from harness.campaign import campaign_plan
from harness.history import results, run_folders
from harness.model import answers

Attempts = list[results.RunResult]
"""All attempts of one planned run, in order; a run without further attempts has one."""
Planned = Mapping[int, campaign_plan.PlannedRun]
"""The planned runs, by their numbers."""


class Rank(enum.IntEnum):
    """Results of a run, those first that count if it was made more than once."""

    UNEXPECTED = 0
    """INVALID, a control that was missed, or a regression."""
    UNKNOWN = 1
    EXPECTED = 2
    ERROR = 3
    """Says nothing about the subject."""


class ShardResults(msgspec.Struct, frozen=True, kw_only=True):
    """The results of some planned runs."""

    whole: dict[int, list[Attempts]] = {}
    """Number of a run -> its results; more than one entry if it was made more than once."""
    problems: list[str] = []
    """Whatever was noticed and does not count, as sentences; each makes a campaign UNKNOWN."""


def rank(attempts: Attempts) -> Rank:
    """Return how much the result of a run speaks against the subject, or against the campaign."""
    last = attempts[-1]
    if last.error:
        return Rank.ERROR
    if last.is_regression or last.is_missed or last.is_against_subject:
        return Rank.UNEXPECTED
    return Rank.UNKNOWN if last.verdict is answers.Verdict.UNKNOWN else Rank.EXPECTED


def read(content: bytes, planned: Planned) -> ShardResults:
    """Return the results in a results.jsonl.

    A line that was not written whole, or is not about a planned run, is left out with a problem.
    Runs that did not end are left out.
    """
    problems: list[str] = []
    found: dict[int, Attempts] = defaultdict(list)
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        try:
            result = _result(line, planned)
            found[result.number].append(result)
        except errors.HistoryError as error:
            problems.append(f"{results.FILE}:{number}: {error}")
    whole: dict[int, list[Attempts]] = defaultdict(list)
    for number, attempts in found.items():
        for made in _times(attempts):
            if [result.attempt for result in made] != list(range(len(made))):
                name = planned[number].id
                problems.append(f"{results.FILE}: {name}: expected all its attempts, in order")
            elif not made[-1].is_tried_again:
                whole[number].append(made)
    return ShardResults(whole=whole, problems=problems)


def _result(line: bytes, planned: Planned) -> results.RunResult:
    """Return the result of a line; raise HistoryError if it is none of a planned run."""
    if not line.endswith(b"\n"):
        raise errors.HistoryError("the line is cut")
    try:
        result = msgspec.json.decode(line, type=results.RunResult)
    except results.DECODING as error:
        raise errors.HistoryError(f"expected a result ({error})") from error
    run = planned.get(result.number)
    if run is None or (*result.kind, result.shows_otherwise) != (*run.kind, run.shows_otherwise):
        raise errors.HistoryError(
            f"expected a run of this plan, got number {result.number} ({result.scenario!r:.60})"
        )
    was_made = not (result.missing or result.cut) and bool(result.error) == (result.verdict is None)
    if not was_made or result.attempt >= run.purpose.attempts:
        raise errors.HistoryError(f"{run.id}: expected the verdict, or the error, of an attempt")
    return result


def _times(found: Attempts) -> Iterator[Attempts]:
    """Yield the attempts of each time that a run was made: each begins with the first one."""
    starts = [at for at, result in enumerate(found) if result.attempt == 0 or at == 0]
    for start, end in zip(starts, [*starts[1:], len(found)], strict=True):
        yield found[start:end]


def confirmed(found: ShardResults, planned: Planned, reports: pathlib.Path) -> ShardResults:
    """Return the results that count, with their run directories where they are now.

    `reports` is the folder of reports that the shard is in: it was perhaps copied from another
    machine. A run directory that is not in it is looked for where it was made.
    """
    whole: dict[int, list[Attempts]] = defaultdict(list)
    problems = list(found.problems)
    for number, times in found.whole.items():
        for made in times:
            looked = [_look(result, planned[number], reports) for result in made]
            attempts = [result for result, _ in looked]
            new = [f"{planned[number].id}: {problem}" for _, problem in looked if problem]
            problems += new
            if not new or rank(attempts) is not Rank.EXPECTED:
                whole[number].append(attempts)
    return ShardResults(whole=whole, problems=problems)


def _look(
    result: results.RunResult, run: campaign_plan.PlannedRun, reports: pathlib.Path
) -> tuple[results.RunResult, str]:
    """Return the result that counts of one attempt, and what is wrong; empty: nothing."""
    if result.error:
        return result, ""
    if not result.directory:
        return result, "its result names no run directory"
    place = _place(pathlib.Path(result.directory), reports)
    result = msgspec.structs.replace(result, directory=str(place))
    try:
        verdict = _verdict(place, run, result.attempt)
    except errors.HarnessError as error:
        return result, f"{place}: {error}"
    said = verdict.of_result
    differing = [name for name, value in said.items() if getattr(result, name) != value]
    if not differing:
        return result, ""
    problem = f"{place}: verdict.json says {verdict.verdict} ({verdict.reason:.200}), and "
    problem += f"{results.FILE} says {result.verdict} ({', '.join(differing)} differ)"
    if verdict.verdict is answers.Verdict.INVALID and not run.purpose.is_sought:
        result = msgspec.structs.replace(result, **said, reason=problem)
    return result, problem


def _place(given: pathlib.Path, reports: pathlib.Path) -> pathlib.Path:
    moved = reports / given.parent.name / given.name
    return given if os.path.isdir(given) and not os.path.isdir(moved) else moved  # noqa: PTH112 - never raises


def _verdict(
    place: pathlib.Path, run: campaign_plan.PlannedRun, attempt: int
) -> run_folders.Verdict:
    """Return the verdict of an attempt; raise HarnessError without one that can be used."""
    folder = run_folders.read(place)
    plan = folder.plan
    if plan is None or folder.verdict is None:
        raise errors.HistoryError(folder.problem)
    seed = seeds.Seeds(run.seed).derive(attempt) if attempt else run.seed
    made = (plan.scenario, plan.seed, plan.defects, plan.remedies, plan.release)
    if made != (run.title, seed, run.defects, run.remedies, run.release):
        raise errors.HistoryError("it is the directory of another run")
    if run.tested and plan.subject_name != run.tested:
        raise errors.HistoryError(f"its subject is {plan.subject_name!r:.60}")
    return folder.verdict
