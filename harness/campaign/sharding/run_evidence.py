"""The run directory behind each result of a shard: it is there, is that run's, and says the same.

Runs are not judged again: plan.json and verdict.json are read. A result that says that all was as
expected counts only with them. Where the two differ the worse one counts. A result against
the subject counts also without them, so that what was found is not lost with a folder.
"""

import os
import pathlib
from collections.abc import Mapping

import msgspec

from harness import errors
from harness.campaign import campaign_plan, results
from harness.campaign.sharding import locations, shard_reading
from harness.checks import verdicts
from harness.checks.consumption import device_consumption
from harness.checks.schedulers import scheduler_exclusivity
from harness.history import run_folders
from harness.seeds import Seeds


def confirmed(
    found: shard_reading.ShardResults,
    planned: Mapping[int, campaign_plan.PlannedRun],
    reports: locations.Location,
) -> shard_reading.ShardResults:
    """Return the results that count, with their run directories where they are now.

    `reports` is the folder of reports that the shard is in: it was perhaps copied from another
    machine. A run directory that is not in it is looked for where it was made.
    """
    whole: dict[int, list[shard_reading.Attempts]] = {}
    problems, rejected = list(found.problems), dict(found.rejected)
    for number, group in found.whole.items():
        for made in group:
            looked = [_look(result, planned[number], reports) for result in made]
            attempts = tuple(result for result, _ in looked)
            new = [f"{planned[number].id}: {problem}" for _, problem in looked if problem]
            problems += new
            if new and shard_reading.rank(attempts) is shard_reading.Rank.EXPECTED:
                rejected[number] = new[0]
            else:
                whole.setdefault(number, []).append(attempts)
    return shard_reading.ShardResults(whole=whole, problems=problems, rejected=rejected)


def _look(
    result: results.RunResult, run: campaign_plan.PlannedRun, reports: locations.Location
) -> tuple[results.RunResult, str]:
    """Return the result that counts of one attempt, and what is wrong; empty: nothing."""
    if result.error:
        return result, ""
    if not result.directory:
        return result, "its result names no run directory"
    place = _place(result.directory, reports)
    result = msgspec.structs.replace(result, directory=place.name)
    try:
        verdict = _verdict(place, run, result.attempt)
    except errors.HistoryError as error:
        return result, f"{place.name}: {error}"
    differing = [name for name, value in _said(verdict).items() if getattr(result, name) != value]
    if not differing:
        return result, ""
    problem = f"{place.name}: verdict.json says {verdict.verdict} ({verdict.reason:.200}), and "
    problem += f"results.jsonl says {result.verdict} ({', '.join(differing)} differ)"
    if verdict.verdict is verdicts.Verdict.INVALID and not run.purpose.is_sought:
        result = msgspec.structs.replace(result, **_said(verdict), reason=problem)
    return result, problem


def _place(directory: str, reports: locations.Location) -> locations.Location:
    """Return the run directory in this folder of reports, or else where it was made."""
    given = pathlib.PurePath(directory)
    moved = reports.folder(given.parent.name).folder(given.name)
    is_gone = not moved.exists() and os.path.isdir(directory)  # noqa: PTH112 - never raises
    return locations.at(directory) if is_gone else moved


def _verdict(
    place: locations.Location, run: campaign_plan.PlannedRun, attempt: int
) -> run_folders.Verdict:
    """Return the verdict of an attempt; raise HistoryError without one that can be used."""
    content, document = place.read("plan.json"), place.read("verdict.json")
    if content is None or document is None:
        lacks = "plan.json" if content is None else "verdict.json"
        raise errors.HistoryError(
            f"there is no {lacks}: copy the run directory beside the shard's campaigns folder"
        )
    plan = run_folders.plan_of(content)
    made = (plan.scenario, plan.seed, plan.defects, plan.remedies, plan.release)
    seed = Seeds(run.seed).derive(attempt) if attempt else run.seed
    if made != (run.title, seed, run.defects, run.remedies, run.release):
        raise errors.HistoryError("it is the directory of another run")
    if run.tested and plan.subject_name != run.tested:
        raise errors.HistoryError(f"its subject is {plan.subject_name!r:.60}")
    return run_folders.verdict_of(document, plan, content)


def _said(verdict: run_folders.Verdict) -> dict[str, object]:
    """Return what a result says of a run with this verdict."""
    found = verdict.figures
    return {
        "verdict": verdict.verdict,
        "claims": found.claims,
        "double_allocations": found.double_allocations,
        "stuck": found.stuck,
        "others": found.violations - found.double_allocations - found.stuck,
        "consumed_twice": verdict.violations_of(device_consumption.CHECK.name),
        "thresholds": verdict.missed_thresholds,
        "figures": verdict.campaign_figures,
        "by_one_scheduler": verdict.violations_of(scheduler_exclusivity.CHECK.name),
    }
