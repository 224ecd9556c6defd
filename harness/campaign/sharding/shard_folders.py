"""A shard: which one a machine makes, its folder, and the results in it.

A shard that is started again continues in the folder that it has: runs that ended keep their
results, and only the others are made. A result is kept if all its attempts are there and it is not
an error of the harness. An expected one must also have its run directory with a verdict; one that
is INVALID, UNKNOWN or a miss is kept without, so that another start never hides it.

For a merge a result that says that all was as expected counts only with plan.json and verdict.json
of its run, which is not judged again. Where they differ the worse one counts.
"""

import contextlib
import enum
import fcntl
import os
import pathlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from harness import clocks, errors, seeds, writing
from harness.campaign import campaign_plan
from harness.campaign.sharding import sharded_plans
from harness.history import (
    campaign_folders,
    directories,
    files,
    report_folders,
    results,
    run_folders,
    subject_names,
)
from harness.model import answers
from harness.run import run_plan

PLAN = "sharded-plan.json"
"""The plan, verbatim."""
SCENARIOS = "scenarios"
"""Folder of the plan's scenarios that this machine lacks, or has in another form."""
_ENGINES = {
    "JOB_COMPLETION_INDEX": (0, "in the Job, set completions: "),
    "SLURM_ARRAY_TASK_ID": (1, "submit the array with sbatch --array=1-"),
}
"""Variable of an Indexed Job of Kubernetes, and of a job array of Slurm -> where it counts from,
and what makes it right."""


def name(number: int, shards: int) -> str:
    return f"shard {number} of {shards}" if number else f"all {shards} shards"


def choose(option: str | None, environment: Mapping[str, str], *, shards: int) -> tuple[int, str]:
    """Return the shard that `--shard`, or else the environment, names, and why it is that one.

    0: all shards, if none does.
    """
    given = [variable for variable in _ENGINES if environment.get(variable)]
    if option == "all" or (option is None and not given):
        return 0, "--shard all" if option else ""
    if option is None and len(given) == 1:
        [variable] = given
        (first, remedy), text = _ENGINES[variable], environment[variable]
        if text.isascii() and text.isdecimal() and first <= int(text) < first + shards:
            return int(text) - first + 1, f"{variable}={text}, which counts from {first}"
        wanted = f"{variable} to be {first} to {first + shards - 1}"
        text += f": {remedy}{shards}"
    else:
        matched = re.fullmatch(rf"(\d{{1,9}})/{shards}", option or "", re.ASCII)
        if matched is not None and 1 <= int(matched[1]) <= shards:
            return int(matched[1]), "--shard"
        wanted, text = f"--shard 1/{shards} to {shards}/{shards}, or all", option or ""
        text = text or " and ".join(given)
    raise errors.UsageError(f"expected {wanted}, because the plan has {shards} shards, got {text}")


def read(path: pathlib.Path) -> tuple[sharded_plans.ShardedPlan, campaign_plan.CampaignPlan]:
    """Return the whole plan and that of the folder, which have to belong together."""
    plan = sharded_plans.read(path / PLAN)
    own = campaign_plan.read(path / campaign_folders.PLAN)
    made_by, planned = (one.versions.get("flake-hunt") for one in (own, plan.campaign))
    found = (own.plan_digest, own.shards, made_by)
    if found != (plan.digest, plan.shards, planned) or not 0 <= own.shard <= plan.shards:
        raise errors.HistoryError(
            f"{campaign_folders.PLAN}: expected a shard of {plan.shards} of the plan "
            f"{plan.digest:.19}, made by Flake Hunt {planned}, got shard {own.shard} of "
            f"{own.shards} of {own.plan_digest:.19}, made by {made_by!r:.40}"
        )
    return plan, own


# ------------------------------------------------------------------------------------ a start


class Started(NamedTuple):
    """A shard that is about to be made, or to go on."""

    folder: pathlib.Path
    campaign: campaign_plan.CampaignPlan
    kept: list[results.RunResult]


@contextlib.contextmanager
def started(
    plan: sharded_plans.ShardedPlan, shard: int, *, reports: pathlib.Path, jobs: int
) -> Iterator[Started]:
    """Yield the shard (0: all) in the folder that it has among the reports, or in a new one.

    Scenarios that this machine lacks are written. Raises UsageError if another process works in the
    folder, or for results that cannot be read, StorageError or UnwritableError if it cannot be
    written.
    """
    campaigns = reports.resolve() / campaign_folders.FOLDER
    ending = f"-plan-{plan.short_digest}" + f"-shard-{shard}-of-{plan.shards}" * bool(shard)
    names = (path for path in report_folders.folders(campaigns) if path.name.endswith(ending))
    path, begun = max(names, default=campaigns), ""
    with contextlib.suppress(errors.HarnessError):
        _, before = read(path)
        begun = before.started * ((before.plan_digest, before.shard) == (plan.digest, shard))
    if not begun:
        begun = clocks.wall_text()
        path = campaigns / f"{begun.replace('-', '').replace(':', '')}{ending}"
        with writing.explained(path):
            path.mkdir(parents=True, exist_ok=True)
        sharded_plans.write(path / PLAN, plan)
    runs = plan.runs_of(shard)
    asked = {run.scenario for run in runs}
    here = {one.given: one.here(path / SCENARIOS) for one in plan.scenarios if one.given in asked}
    with _locked(path):
        kept = _keep(path, plan)
        campaign = msgspec.structs.replace(
            plan.campaign,
            reports=str(reports.resolve()),
            started=begun,
            jobs=jobs,
            versions=plan.campaign.versions | run_plan.versions(),
            done=sorted({result.number for result in kept}),
            plan_digest=plan.digest,
            shard=shard,
            shards=plan.shards,
            runs=[msgspec.structs.replace(run, scenario=here[run.scenario]) for run in runs],
        )
        campaign_plan.write(path / campaign_folders.PLAN, campaign)
        yield Started(path, campaign, kept)


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    """Hold the folder for one process; without a lock where the file system has none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise errors.UsageError(
            f"expected one process for a shard, but another one works in {path}: wait until it "
            "ends, or use another --reports"
        ) from error
    except OSError:
        pass
    try:
        yield
    finally:
        os.close(descriptor)


def _keep(path: pathlib.Path, plan: sharded_plans.ShardedPlan) -> list[results.RunResult]:
    """Raise UsageError for a line that may say what another start would hide."""
    file = path / results.FILE
    if not file.exists():
        return []
    content = files.read_small(file)
    whole = content[: content.rfind(b"\n") + 1]
    ended, problems = read_results(whole, {run.number: run for run in plan.runs})
    if problems:
        raise errors.UsageError(
            f"{path}: expected results of this shard that can be read, got {problems[0]}: "
            "name another folder with --reports, or remove what you know to be wrong"
        )
    kept = [result for made in ended.values() if _is_kept(made) for result in made]
    writing.replace(file, results.encode(kept))
    return kept


def _is_kept(attempts: "Attempts") -> bool:
    if rank(attempts) is Rank.EXPECTED:
        return directories.RunDirectory(pathlib.Path(attempts[-1].directory)).verdict.is_file()
    return rank(attempts) is not Rank.ERROR


def require_same_subjects(plan: campaign_plan.CampaignPlan) -> None:
    """Raise UsageError or ScenarioError for a run that this machine would make otherwise."""
    here, _ = campaign_plan.as_they_are_now(plan, plan.runs)
    for run, found in zip(plan.runs, here, strict=True):
        if found.tested != run.tested:
            raise errors.UsageError(
                f"expected {run.tested} on this machine, because the plan names it for "
                f"{run.title}, got {found.tested}: install that version, or write the plan here"
            )


# ------------------------------------------------------------------------------------ results

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


def read_results(
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
    result = files.decoded(line, results.RunResult)
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
