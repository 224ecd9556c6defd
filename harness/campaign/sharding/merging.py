"""Merges shards into the campaign that they make together: each planned run counts exactly once.

A run without a result is UNKNOWN and names its shard. Of a run with several results the worst one
counts, so that a second start never hides what the first has found: INVALID or a miss, then
UNKNOWN, then the expected verdict, then an error, which says nothing about the subject.
"""

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from harness import errors, writing
from harness.campaign import campaign_documents, campaign_pages, campaign_plan
from harness.campaign.sharding import shard_folders, sharded_plans
from harness.history import campaign_folders, files, report_folders, results
from harness.model import answers

MERGE = "merge.json"
SCHEMA_VERSION = 2
PROBLEMS_MAX = 3
"""Problems of a folder that a missing run names; results.json has all."""
_UNENDED = "it was interrupted, or is under way"


class MissingRun(msgspec.Struct, frozen=True, kw_only=True):
    """A planned run without a result."""

    number: int
    run: str
    """Scenario, subject and repetition, as in junit.xml."""
    shard: int
    reason: str


class DoubledRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of several results of a planned run: the worst one counts, the others are kept here."""

    number: int
    run: str
    counted: str
    folder: str
    results: list[results.RunResult]
    """All attempts of this result."""


class MergeDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The merge of a campaign's shards."""

    schema: int = SCHEMA_VERSION
    plan: str
    """Digest of the plan."""
    shards: int
    planned: int
    missing_shards: list[int]
    missing: list[MissingRun]
    doubled: list[DoubledRun]


class ReadShard(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of a shard, as it was read."""

    folder: str
    campaign: campaign_plan.CampaignPlan | None = None
    """Its part of the plan; None: it is damaged, and nothing of it counts."""
    whole: dict[int, shard_folders.Attempts] = {}
    """Number of a run that has ended -> its result."""
    problems: list[str] = []
    """Whatever was noticed and does not count, as sentences; each makes a campaign UNKNOWN."""

    def has(self, shard: int) -> bool:
        return self.campaign is not None and self.campaign.shard in (0, shard)


class GivenShards(NamedTuple):
    """The shards of one plan, in the folders that were given."""

    plan: sharded_plans.ShardedPlan
    shards: list[ReadShard]

    @property
    def started(self) -> str:
        return min(shard.campaign.started for shard in self.shards if shard.campaign)

    @property
    def folder_name(self) -> str:
        start = "".join(filter(str.isalnum, self.started))
        return f"{start}-plan-{self.plan.short_digest}-merged"


# ----------------------------------------------------------------------------------- reading


def read(given: Sequence[str]) -> GivenShards:
    """Read the shards of one plan in folders of shards, or of reports that have some."""
    places = {name: [*_places(pathlib.Path(name).resolve())] for name in dict.fromkeys(given)}
    plans: dict[str, tuple[sharded_plans.ShardedPlan, pathlib.Path]] = {}
    nothing = ["it has no shard"]
    shards = [ReadShard(folder=name, problems=nothing) for name in places if not places[name]]
    for place in dict.fromkeys(place for found in places.values() for place in found):
        try:
            plan, campaign = shard_folders.read(place)
        except (errors.HistoryError, errors.UsageError) as error:
            shards.append(ReadShard(folder=str(place), problems=[str(error)]))
        else:
            plans.setdefault(plan.digest, (plan, place))
            shards.append(_shard(place, campaign, plan))
    if len(plans) != 1:
        named = [f"{digest:.19} in {place}" for digest, (_, place) in plans.items()]
        named = named or [f"{shard.folder}: {shard.problems[0]}" for shard in shards]
        raise errors.UsageError(
            "expected folders of shards of one plan, as `flake-hunt hunt --plan FILE --shard I/N` "
            f"writes them, got {' and '.join(named)}"
        )
    [(plan, place)] = plans.values()
    sharded_plans.require_same_version(plan, place / shard_folders.PLAN)
    return GivenShards(plan, shards)


def _places(given: pathlib.Path) -> Iterator[pathlib.Path]:
    if not given.is_dir():
        raise errors.UsageError(
            f"expected the folder of a shard, or a folder of reports with some, got {given}, which "
            "is no folder: leave it out, and its shard is UNKNOWN"
        )
    for place in (given, *sorted(report_folders.folders(given / campaign_folders.FOLDER))):
        is_merged = (place / MERGE).exists()  # such a folder has the plan, too
        if (place / shard_folders.PLAN).exists() and not is_merged:
            yield place


def _shard(
    place: pathlib.Path, campaign: campaign_plan.CampaignPlan, plan: sharded_plans.ShardedPlan
) -> ReadShard:
    content = b""
    if (place / results.FILE).exists():
        content = files.read_small(place / results.FILE)
    runs = {run.number: run for run in plan.runs_of(campaign.shard)}
    whole, problems = shard_folders.read_results(content, runs, place.parent.parent)
    return ReadShard(folder=str(place), campaign=campaign, whole=whole, problems=problems)


# ----------------------------------------------------------------------------------- merging


def merged(
    plan: sharded_plans.ShardedPlan, shards: Sequence[ReadShard]
) -> tuple[list[results.RunResult], MergeDocument]:
    found: list[results.RunResult] = []
    missing: list[MissingRun] = []
    doubled: list[DoubledRun] = []
    for run in plan.runs:
        made = [(one.whole[run.number], one.folder) for one in shards if run.number in one.whole]
        made.sort(key=lambda item: shard_folders.rank(item[0]))
        if made:
            [(attempts, counted), *others] = made
            found += attempts
            doubled += (
                DoubledRun(
                    number=run.number, run=run.id, counted=counted, folder=folder, results=attempts
                )
                for attempts, folder in others
            )
        else:
            why = _why(run, plan, shards)
            missing.append(MissingRun(number=run.number, run=run.id, shard=run.shard, reason=why))
            unknown = answers.Verdict.UNKNOWN
            found.append(run.result(seconds=0.0, verdict=unknown, reason=why, missing=True))
    numbers = range(1, plan.shards + 1)
    return found, MergeDocument(
        plan=plan.digest,
        shards=plan.shards,
        planned=len(plan.runs),
        missing_shards=[at for at in numbers if not any(shard.has(at) for shard in shards)],
        missing=missing,
        doubled=doubled,
    )


def _why(
    run: campaign_plan.PlannedRun, plan: sharded_plans.ShardedPlan, shards: Sequence[ReadShard]
) -> str:
    name = shard_folders.name(run.shard, plan.shards)
    own = [shard for shard in shards if shard.has(run.shard)]
    if not own:
        return f"{name} is missing: none of the folders has it"
    reasons = [
        f"{', '.join(shard.problems[:PROBLEMS_MAX]) or _UNENDED} ({shard.folder})" for shard in own
    ]
    return f"{name} has no result of this run: {'; '.join(reasons)}"


def write(
    given: GivenShards, folder: pathlib.Path
) -> tuple[campaign_documents.CampaignDocument, MergeDocument]:
    """Write the merged campaign; raise UsageError if the folder has something else."""
    found, document = merged(given.plan, given.shards)
    _require_free(folder, given.plan)
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    jobs = {shard.campaign.jobs for shard in given.shards if shard.campaign}
    problems = [f"{shard.folder}: {text}" for shard in given.shards for text in shard.problems]
    campaign = msgspec.structs.replace(
        given.plan.campaign,
        reports=str(folder.resolve().parent.parent),
        started=given.started,
        jobs=jobs.pop() if len(jobs) == 1 else 0,
        plan_digest=given.plan.digest,
        shards=given.plan.shards,
    )
    sharded_plans.write(folder / shard_folders.PLAN, given.plan)
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    writing.replace(folder / MERGE, content)
    campaign_plan.write(folder / campaign_folders.PLAN, campaign)
    writing.replace(folder / results.FILE, results.encode(found))
    return campaign_pages.publish(found, campaign, folder, problems), document


def _require_free(folder: pathlib.Path, plan: sharded_plans.ShardedPlan) -> None:
    """Raise UsageError if a folder has anything but an earlier merge of the same plan."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    digest = ""
    with contextlib.suppress(errors.UsageError):
        digest = sharded_plans.read(folder / shard_folders.PLAN).digest
    if digest != plan.digest or not (folder / MERGE).exists():
        raise errors.UsageError(
            f"expected an empty folder, or one with an earlier merge of this plan, got {folder}: "
            "name another one with -o"
        )
