"""The folder of a shard: its plan, its number, and what an interrupted start left in it.

A shard that is started again continues in the folder that it has: runs that ended keep their
results, and only the others are made. A result is kept if all its attempts are there and it is not
an error of the harness. An expected one must also have its run directory with a verdict; one that
is INVALID, UNKNOWN or a miss is kept without, so that another start never hides it.
"""

import contextlib
import fcntl
import os
import pathlib
import tomllib
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import tomli_w

from harness import clocks, errors, regular_files, writing
from harness.campaign import campaign_plan, results
from harness.campaign.purposes import Purpose
from harness.campaign.sharding import chosen_shards, shard_reading, sharded_plans
from harness.history import campaign_folders, directories, report_folders, subject_names
from harness.run import run_plan
from harness.scenario import loading
from harness.scenario.imported import saved_objects

PLAN = "sharded-plan.json"
"""The plan, verbatim."""
RECORD = "shard.json"
EARLIER = "earlier-results.jsonl"
"""Results that were not kept: errors, and attempts of runs that did not end."""
SCENARIOS = "scenarios"
"""Folder of the plan's scenarios that this machine lacks, or has in another form."""
_FROM_FILES = ("pools", "traffic")
"""Tables that may name files, whose content is in the settings."""
SCHEMA_VERSION = 1


class ShardRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a plan that a folder has: shard.json."""

    schema: int = SCHEMA_VERSION
    plan: str
    """Digest of the plan."""
    shard: int | None
    """Number of the shard, from 1; None: all of them, one campaign of the whole plan."""
    shards: int
    """Number of shards of the plan."""
    started: str
    """Time of the first start in UTC, `2026-01-31T23:59:59Z`."""
    versions: dict[str, str]
    """Versions on this machine."""
    jobs: int
    """Number of runs that were made at once."""


class ShardFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The folder in which a shard is made."""

    path: pathlib.Path
    record: ShardRecord
    kept: list[results.RunResult]
    """Results of runs that an earlier start has made."""


@contextlib.contextmanager
def opened(
    plan: sharded_plans.ShardedPlan,
    chosen: chosen_shards.ChosenShard,
    *,
    reports: pathlib.Path,
    jobs: int,
) -> Iterator[ShardFolder]:
    """Yield the shard's folder in a folder of reports: the one that it has, or a new one.

    Raises UsageError if another process works in it, StorageError or UnwritableError if it cannot
    be written.
    """
    found = _existing(plan, chosen, reports)
    record = None if found is None else _read(found / RECORD, plan, chosen)
    if found is None or record is None:
        record = _record(plan, chosen, jobs=jobs)
        found = _new(plan, chosen, record, reports)
    with _locked(found):
        yield ShardFolder(path=found, record=record, kept=_keep(found, plan))


def _name(plan: sharded_plans.ShardedPlan, chosen: chosen_shards.ChosenShard) -> str:
    """Return the part of the folder's name that follows the time of its start."""
    if chosen.number is None:
        return f"plan-{plan.short_digest}"
    return f"plan-{plan.short_digest}-shard-{chosen.number}-of-{chosen.shards}"


def _existing(
    plan: sharded_plans.ShardedPlan, chosen: chosen_shards.ChosenShard, reports: pathlib.Path
) -> pathlib.Path | None:
    ending = f"-{_name(plan, chosen)}"
    folders = report_folders.folders(reports.resolve() / campaign_folders.FOLDER)
    found = [path for path in folders if path.name.endswith(ending)]
    return max(found, default=None)


def _read(
    path: pathlib.Path, plan: sharded_plans.ShardedPlan, chosen: chosen_shards.ChosenShard
) -> ShardRecord | None:
    """Return the record; None if it is damaged or of another plan."""
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        record = msgspec.json.decode(regular_files.content(path), type=ShardRecord)
        if (record.plan, record.shard) == (plan.digest, chosen.number):
            return record
    return None


def _record(
    plan: sharded_plans.ShardedPlan, chosen: chosen_shards.ChosenShard, *, jobs: int
) -> ShardRecord:
    return ShardRecord(
        plan=plan.digest,
        shard=chosen.number,
        shards=plan.shards,
        started=clocks.wall_text(),
        versions=run_plan.versions(),
        jobs=jobs,
    )


def _new(
    plan: sharded_plans.ShardedPlan,
    chosen: chosen_shards.ChosenShard,
    record: ShardRecord,
    reports: pathlib.Path,
) -> pathlib.Path:
    start = record.started.replace("-", "").replace(":", "")
    path = reports.resolve() / campaign_folders.FOLDER / f"{start}-{_name(plan, chosen)}"
    with writing.explained(path):
        path.mkdir(parents=True, exist_ok=True)
    sharded_plans.write(path / PLAN, plan)
    content = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    writing.replace(path / RECORD, content)
    return path


def _keep(path: pathlib.Path, plan: sharded_plans.ShardedPlan) -> list[results.RunResult]:
    """Return the results to keep; results.jsonl then has these, and EARLIER the others.

    Raises UsageError for lines that cannot be read: they may say what another start would hide. A
    last line that was not written whole is none of them: its run is made again.
    """
    file = path / campaign_folders.RESULTS
    if not file.exists():
        return []
    content = regular_files.content(file)
    whole = content[: content.rfind(b"\n") + 1]
    found = shard_reading.read(whole, {run.number: run for run in plan.runs})
    if found.problems:
        raise errors.UsageError(
            f"{path}: expected results of this shard that can be read, got {found.problems[0]}: "
            "name another folder with --reports, or remove what you know to be wrong"
        )
    worst = [min(made, key=shard_reading.rank) for made in found.whole.values()]
    kept = [result for made in worst if _is_kept(made) for result in made]
    lines = [msgspec.json.encode(result) + b"\n" for result in kept]
    _set_aside(path / EARLIER, content, lines)
    writing.replace(file, b"".join(lines))
    return kept


def _is_kept(attempts: shard_reading.Attempts) -> bool:
    rank = shard_reading.rank(attempts)
    if rank is shard_reading.Rank.EXPECTED:
        return directories.RunDirectory(pathlib.Path(attempts[-1].directory)).verdict.is_file()
    return rank is not shard_reading.Rank.ERROR


def _set_aside(path: pathlib.Path, content: bytes, kept: Iterable[bytes]) -> None:
    stay = set(kept)
    others = [line for line in content.splitlines(keepends=True) if line not in stay]
    if others:
        with writing.explained(path), path.open("ab") as file:
            file.write(b"".join(others).removesuffix(b"\n") + b"\n")


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    """Hold the folder for one process; without a lock where the file system has none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: pathlib.Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise errors.UsageError(
            f"expected one process for a shard, but another one works in {path}: wait until it "
            "ends, or use another --reports"
        ) from error


def _with_local_scenarios(
    plan: sharded_plans.ShardedPlan, folder: ShardFolder, runs: Sequence[sharded_plans.ShardedRun]
) -> list[sharded_plans.ShardedRun]:
    """Return the runs with scenarios that this machine has as the plan has them.

    Files that are missing here, or differ, are written into the shard's folder.
    """
    names = {
        scenario.given: _local(scenario, number, folder.path / SCENARIOS)
        for number, scenario in enumerate(plan.scenarios, start=1)
        if any(run.scenario == scenario.given for run in runs)
    }
    return [msgspec.structs.replace(run, scenario=names[run.scenario]) for run in runs]


def _local(scenario: sharded_plans.PlannedScenario, number: int, folder: pathlib.Path) -> str:
    with contextlib.suppress(errors.UsageError):
        if _is_same(loading.load(scenario.given), scenario):
            return scenario.given
    path = folder / f"{number}-{pathlib.PurePath(scenario.given).stem}.toml"
    with writing.explained(path):
        folder.mkdir(exist_ok=True)
    writing.replace(path, _without_files(scenario, path).encode())
    return str(path)


def _is_same(loaded: loading.Loaded, scenario: sharded_plans.PlannedScenario) -> bool:
    """Return whether file and objects are those of the plan."""
    settings = loaded.scenario.model_dump(mode="json")
    is_same_text = loaded.text == scenario.text
    return is_same_text and all(settings[key] == scenario.settings[key] for key in _FROM_FILES)


def _without_files(scenario: sharded_plans.PlannedScenario, path: pathlib.Path) -> str:
    """Return the text of a scenario that needs no file but one beside `path`, which is written."""
    document, traffic = tomllib.loads(scenario.text), scenario.settings["traffic"]
    is_of_objects = bool(traffic.get("sets"))
    if not (scenario.pool_objects or is_of_objects):
        return scenario.text
    if is_of_objects:
        document["traffic"]["sets"] = traffic["sets"]
    if scenario.pool_objects:
        beside = path.with_suffix(f".{directories.POOL_OBJECTS}")
        saved_objects.save(scenario.pool_objects, beside)
        document["pools"]["from"] = [beside.name]
    text: str = tomli_w.dumps(document)
    return text


def campaign(plan: sharded_plans.ShardedPlan, folder: ShardFolder) -> campaign_plan.CampaignPlan:
    """Return the campaign of the shard, without the runs that are done."""
    runs = _with_local_scenarios(plan, folder, plan.runs_of(folder.record.shard))
    made = sharded_plans.campaign(
        plan,
        runs,
        reports=folder.path.parent.parent,
        started=folder.record.started,
        jobs=folder.record.jobs,
    )
    done = sorted({result.number for result in folder.kept})
    return msgspec.structs.replace(made, done=done, is_part=folder.record.shard is not None)


def require_same_subjects(plan: campaign_plan.CampaignPlan) -> None:
    """Raise UsageError or ScenarioError for a run that this machine would make otherwise."""
    for run in _kinds(plan.runs):
        found = subject_names.of_plan(campaign_plan.resolve(plan, run)[1])
        if found != run.tested:
            raise errors.UsageError(
                f"expected {run.tested} on this machine, because the plan names it for "
                f"{run.title}, got {found}: install that version, or write the plan here"
            )


def _kinds(runs: Iterable[campaign_plan.PlannedRun]) -> Iterable[campaign_plan.PlannedRun]:
    """Return one run of each kind whose schedulers the plan has named."""
    named = (run for run in runs if run.tested and run.purpose is not Purpose.CONTROL)
    return {
        (
            run.scenario,
            *run.subjects,
            run.claim_controller,
            *run.remedies,
            run.release,
            run.tested,
        ): run
        for run in named
    }.values()
