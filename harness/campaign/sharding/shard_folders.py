"""A shard: which one a machine makes, its folder, and what an interrupted start left in it.

A shard that is started again continues in the folder that it has: runs that ended keep their
results, and only the others are made. A result is kept if all its attempts are there and it is not
an error of the harness. An expected one must also have its run directory with a verdict; one that
is INVALID, UNKNOWN or a miss is kept without, so that another start never hides it.
"""

import contextlib
import fcntl
import os
import pathlib
import re
import tomllib
from collections.abc import Iterator, Mapping

import msgspec
import tomli_w

from harness import clocks, errors, regular_files, writing
from harness.campaign import campaign_plan
from harness.campaign.sharding import shard_results, sharded_plans
from harness.history import campaign_folders, directories, files, report_folders, results
from harness.run import run_plan
from harness.scenario import imported_pools, loading

PLAN = "sharded-plan.json"
"""The plan, verbatim."""
RECORD = "shard.json"
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
    started: str
    """Time of the first start in UTC, `2026-01-31T23:59:59Z`."""
    versions: dict[str, str]
    jobs: int
    """Number of runs that were made at once."""


class ShardFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The folder in which a shard is made."""

    path: pathlib.Path
    record: ShardRecord
    kept: list[results.RunResult]


class ChosenShard(msgspec.Struct, frozen=True):
    """The part of a plan that a machine makes."""

    number: int | None
    """Number of the shard, from 1; None: all shards."""
    shards: int
    reason: str
    """Where the number comes from; empty: nowhere."""

    @property
    def text(self) -> str:
        return (
            f"all {self.shards} shards" if self.number is None else name(self.number, self.shards)
        )


_ENGINES = {
    "JOB_COMPLETION_INDEX": (0, "in the Job, set completions: "),
    "SLURM_ARRAY_TASK_ID": (1, "submit the array with sbatch --array=1-"),
}
"""Variable of an Indexed Job of Kubernetes, and of a job array of Slurm -> where it counts from,
and what makes it right."""


def name(number: int, shards: int) -> str:
    return f"shard {number} of {shards}"


def choose(option: str | None, environment: Mapping[str, str], *, shards: int) -> ChosenShard:
    """Return the shard that `--shard`, or else the environment, names; all if none does."""
    given = [variable for variable in _ENGINES if environment.get(variable)]
    if option == "all" or (option is None and not given):
        return ChosenShard(None, shards, "--shard all" if option else "")
    if option is None and len(given) == 1:
        [variable] = given
        (first, remedy), text = _ENGINES[variable], environment[variable]
        if text.isascii() and text.isdecimal() and first <= int(text) < first + shards:
            reason = f"{variable}={text}, which counts from {first}"
            return ChosenShard(int(text) - first + 1, shards, reason)
        wanted = f"{variable} to be {first} to {first + shards - 1}"
        text += f": {remedy}{shards}"
    else:
        matched = re.fullmatch(rf"(\d{{1,9}})/{shards}", option or "", re.ASCII)
        if matched is not None and 1 <= int(matched[1]) <= shards:
            return ChosenShard(int(matched[1]), shards, "--shard")
        wanted, text = f"--shard 1/{shards} to {shards}/{shards}, or all", option or ""
        text = text or " and ".join(given)
    raise errors.UsageError(f"expected {wanted}, because the plan has {shards} shards, got {text}")


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def read(path: pathlib.Path) -> tuple[sharded_plans.ShardedPlan, ShardRecord]:
    """Return the plan and the record of a shard's folder, which have to belong together."""
    plan = sharded_plans.read(path / PLAN)
    try:
        record = files.decoded(files.read_small(path / RECORD), ShardRecord)
    except errors.HistoryError as error:
        raise errors.HistoryError(f"{RECORD} is damaged ({error})") from error
    own, planned = record.versions.get("flake-hunt"), plan.campaign.versions.get("flake-hunt")
    found = (record.schema, record.plan, record.shards, own)
    is_of_plan = found == (SCHEMA_VERSION, plan.digest, plan.shards, planned)
    is_one = record.shard is None or 1 <= record.shard <= plan.shards
    if not (is_of_plan and is_one and _TIME.fullmatch(record.started)):
        raise errors.HistoryError(
            f"{RECORD}: expected a shard of {plan.shards} of the plan {plan.digest:.19}, made by "
            f"Flake Hunt {planned}, got shard {record.shard} of {record.shards} of {record.plan:.19}, "
            f"made by {own!r:.40} at {record.started!r:.40}"
        )
    return plan, record


@contextlib.contextmanager
def opened(
    plan: sharded_plans.ShardedPlan,
    chosen: ChosenShard,
    *,
    reports: pathlib.Path,
    jobs: int,
) -> Iterator[ShardFolder]:
    """Yield the shard's folder in a folder of reports: the one that it has, or a new one.

    Raises UsageError if another process works in it, StorageError or UnwritableError if it cannot
    be written.
    """
    campaigns = reports.resolve() / campaign_folders.FOLDER
    ending = f"-plan-{plan.short_digest}"
    if chosen.number is not None:
        ending += f"-shard-{chosen.number}-of-{chosen.shards}"
    names = (path for path in report_folders.folders(campaigns) if path.name.endswith(ending))
    path, record = max(names, default=campaigns), None
    with contextlib.suppress(errors.HarnessError):
        _, record = read(path)
    if record is None or (record.plan, record.shard) != (plan.digest, chosen.number):
        record = ShardRecord(
            plan=plan.digest,
            shard=chosen.number,
            shards=plan.shards,
            started=clocks.wall_text(),
            versions=run_plan.versions(),
            jobs=jobs,
        )
        start = record.started.replace("-", "").replace(":", "")
        path = campaigns / f"{start}{ending}"
        with writing.explained(path):
            path.mkdir(parents=True, exist_ok=True)
        sharded_plans.write(path / PLAN, plan)
        content = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
        writing.replace(path / RECORD, content)
    with _locked(path):
        yield ShardFolder(path=path, record=record, kept=_keep(path, plan))


def _keep(path: pathlib.Path, plan: sharded_plans.ShardedPlan) -> list[results.RunResult]:
    """Raise UsageError for a line that may say what another start would hide."""
    file = path / results.FILE
    if not file.exists():
        return []
    content = regular_files.content(file)
    whole = content[: content.rfind(b"\n") + 1]
    ended, problems = shard_results.read(whole, {run.number: run for run in plan.runs})
    if problems:
        raise errors.UsageError(
            f"{path}: expected results of this shard that can be read, got {problems[0]}: "
            "name another folder with --reports, or remove what you know to be wrong"
        )
    kept = [result for made in ended.values() if _is_kept(made) for result in made]
    writing.replace(file, results.encode(kept))
    return kept


def _is_kept(attempts: shard_results.Attempts) -> bool:
    rank = shard_results.rank(attempts)
    if rank is shard_results.Rank.EXPECTED:
        return directories.RunDirectory(pathlib.Path(attempts[-1].directory)).verdict.is_file()
    return rank is not shard_results.Rank.ERROR


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


def campaign(plan: sharded_plans.ShardedPlan, folder: ShardFolder) -> campaign_plan.CampaignPlan:
    """Return the shard's runs that are left; scenarios that this machine lacks are written."""
    runs = plan.runs_of(folder.record.shard)
    names = {
        scenario.given: _local(scenario, number, folder.path / SCENARIOS)
        for number, scenario in enumerate(plan.scenarios, start=1)
        if any(run.scenario == scenario.given for run in runs)
    }
    return msgspec.structs.replace(
        plan.campaign,
        reports=str(folder.path.parent.parent.resolve()),
        started=folder.record.started,
        jobs=folder.record.jobs,
        done=sorted({result.number for result in folder.kept}),
        is_part=folder.record.shard is not None,
        runs=[msgspec.structs.replace(run, scenario=names[run.scenario]) for run in runs],
    )


def _local(scenario: sharded_plans.PlannedScenario, number: int, folder: pathlib.Path) -> str:
    """Return the name of a scenario here, which is written if it is not as the plan has it."""
    with contextlib.suppress(errors.UsageError):
        loaded = loading.load(scenario.given)
        settings = loaded.scenario.model_dump(mode="json")
        is_same = all(settings[key] == scenario.settings[key] for key in _FROM_FILES)
        if is_same and loaded.text == scenario.text:
            return scenario.given
    path = folder / f"{number}-{pathlib.PurePath(scenario.given).stem}.toml"
    with writing.explained(path):
        folder.mkdir(exist_ok=True)
    writing.replace(path, _without_files(scenario, path).encode())
    return str(path)


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
        imported_pools.save(scenario.pool_objects, beside)
        document["pools"]["from"] = [beside.name]
    text: str = tomli_w.dumps(document)
    return text


def require_same_subjects(plan: campaign_plan.CampaignPlan) -> None:
    """Raise UsageError or ScenarioError for a run that this machine would make otherwise."""
    here, _ = campaign_plan.as_they_are_now(plan, plan.runs)
    for run, found in zip(plan.runs, here, strict=True):
        if found.tested != run.tested:
            raise errors.UsageError(
                f"expected {run.tested} on this machine, because the plan names it for "
                f"{run.title}, got {found.tested}: install that version, or write the plan here"
            )
