"""Reads the folders of shards, and writes the campaign that they make together."""

import pathlib
import re
from collections.abc import Iterator, Sequence

import msgspec

from harness import errors, regular_files, writing
from harness.campaign import campaign_documents, campaign_pages, campaign_plan, results
from harness.campaign.sharding import (
    locations,
    merging,
    run_evidence,
    shard_folders,
    shard_reading,
    sharded_plans,
)
from harness.history import campaign_folders

MERGE = "merge.json"
"""Name of the document about the merge."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class GivenShards(msgspec.Struct, frozen=True, kw_only=True):
    """The shards of one plan, in the folders that were given."""

    plan: sharded_plans.ShardedPlan
    shards: list[merging.ReadShard]
    damaged: list[merging.MergedFolder]
    """Folders that have a shard, but not in a form that can be read."""
    empty: list[str]
    """Given folders without any shard."""

    @property
    def started(self) -> str:
        """Time at which the first shard was started, in UTC."""
        return min(shard.started for shard in self.shards)

    @property
    def problems(self) -> list[str]:
        """All that was noticed and does not count, with the folder that it is about."""
        read = [(shard.folder, text) for shard in self.shards for text in shard.found.problems]
        broken = [(item.folder, text) for item in self.damaged for text in item.problems]
        found = [f"{folder}: {text}" for folder, text in (*broken, *read)]
        return [*found, *(f"{name}: it has no shard: leave it out" for name in self.empty)]

    @property
    def folder_name(self) -> str:
        """Name of the merged campaign's folder, unless the user names one."""
        start = self.started.replace("-", "").replace(":", "")
        return f"{start}-plan-{self.plan.short_digest}-merged"


class MergedCampaign(msgspec.Struct, frozen=True, kw_only=True):
    """A merged campaign that was written."""

    results: list[results.RunResult]
    campaign: campaign_documents.CampaignDocument
    merge: merging.MergeDocument


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """A folder with a shard."""

    location: locations.Location
    record: shard_folders.ShardRecord


def read(given: Sequence[str]) -> GivenShards:
    """Read the shards in folders and URLs: of shards, or of reports that have some.

    Raises UsageError if there is none, they are of different plans, or their plan is of another
    version.
    """
    found: list[_Found] = []
    damaged: list[merging.MergedFolder] = []
    empty: list[str] = []
    for name in dict.fromkeys(given):
        places = [place for location in locations.matching(name) for place in _places(location)]
        empty += [] if places else [name]
        for place in places:
            item = _record(place)
            if isinstance(item, _Found):
                found.append(item)
            else:
                damaged.append(item)
    _require_some(found, damaged, given)
    plan = _plan(found)
    unique = {item.location.name: item for item in found}.values()
    strange = [item for item in unique if not _is_of(item.record, plan)]
    return GivenShards(
        plan=plan,
        shards=[_shard(item, plan) for item in unique if item not in strange],
        damaged=[*damaged, *(_strange(item, plan) for item in strange)],
        empty=empty,
    )


def _places(location: locations.Location) -> Iterator[locations.Location]:
    """Yield the folders of shards: the given one, or those in a folder of reports."""
    if not location.exists():
        raise errors.UsageError(
            f"expected the folder of a shard, or a folder of reports with some, got {location.name}, "
            "which is no folder: leave it out, and its shard is UNKNOWN"
        )
    for place in (location, *location.folder(campaign_folders.FOLDER).folders()):
        if place.read(shard_folders.RECORD) is not None or _lost_its_record(place):
            yield place


def _lost_its_record(place: locations.Location) -> bool:
    """Return whether a folder has a shard's plan and is no merged campaign, which has one too."""
    return place.read(shard_folders.PLAN) is not None and place.read(MERGE) is None


def _is_of(record: shard_folders.ShardRecord, plan: sharded_plans.ShardedPlan) -> bool:
    return record.shards == plan.shards and record.shard in (None, *range(1, plan.shards + 1))


def _strange(item: _Found, plan: sharded_plans.ShardedPlan) -> merging.MergedFolder:
    record = item.record
    problem = (
        f"{shard_folders.RECORD}: expected one of {plan.shards} shards, got shard {record.shard} of "
        f"{record.shards}"
    )
    return merging.MergedFolder(folder=item.location.name, shard=None, problems=[problem])


def _record(place: locations.Location) -> _Found | merging.MergedFolder:
    content = place.read(shard_folders.RECORD) or b""
    try:
        record = msgspec.json.decode(content, type=shard_folders.ShardRecord)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{shard_folders.RECORD} is damaged ({error})"
        return merging.MergedFolder(folder=place.name, shard=None, problems=[problem])
    if not _TIME.fullmatch(record.started):
        problem = f"{shard_folders.RECORD} is damaged (started: {record.started!r:.40} is no time)"
        return merging.MergedFolder(folder=place.name, shard=None, problems=[problem])
    return _Found(location=place, record=record)


def _require_some(
    found: Sequence[_Found],
    damaged: Sequence[merging.MergedFolder],
    given: Sequence[str],
) -> None:
    """Raise UsageError unless there are shards, all of one plan."""
    if not found:
        why = "; ".join(f"{item.folder}: {item.problems[0]}" for item in damaged)
        raise errors.UsageError(
            "expected folders of shards, which `flake-hunt hunt --plan FILE --shard I/N` writes, got "
            f"none in {', '.join(given)}" + f" ({why})" * bool(why)
        )
    first = found[0]
    for item in found:
        if item.record.schema != shard_folders.SCHEMA_VERSION:
            raise errors.UsageError(
                f"{item.location.name}: expected a shard of schema {shard_folders.SCHEMA_VERSION}, "
                f"got schema {item.record.schema}: merge with the version that wrote it"
            )
        if item.record.plan != first.record.plan:
            raise errors.UsageError(
                f"expected shards of one plan, got those of plan {first.record.plan:.19} in "
                f"{first.location.name} and of {item.record.plan:.19} in {item.location.name}: merge "
                "each plan by itself"
            )


def _plan(found: Sequence[_Found]) -> sharded_plans.ShardedPlan:
    """Return the plan, from the first folder whose copy is whole."""
    problem: errors.UsageError | None = None
    for item in found:
        where = f"{item.location.name}/{shard_folders.PLAN}"
        try:
            plan = sharded_plans.decode(item.location.read(shard_folders.PLAN) or b"", where)
        except errors.UsageError as error:
            problem = problem or error
            continue
        if plan.digest == item.record.plan:
            sharded_plans.require_same_version(plan, where)
            return plan
    raise problem or errors.UsageError(
        f"expected the plan {found[0].record.plan:.19} in {found[0].location.name}, got another one: "
        "make the shard again"
    )


def _shard(item: _Found, plan: sharded_plans.ShardedPlan) -> merging.ReadShard:
    content = item.location.read(campaign_folders.RESULTS) or b""
    runs = {run.number: run for run in plan.runs_of(item.record.shard)}
    found = shard_reading.read(content, runs)
    found.problems.extend(_other_plan(item, plan))
    return merging.ReadShard(
        folder=item.location.name,
        number=item.record.shard,
        started=item.record.started,
        versions=item.record.versions,
        jobs=item.record.jobs,
        found=run_evidence.confirmed(found, runs, item.location.parent().parent()),
    )


def _other_plan(item: _Found, plan: sharded_plans.ShardedPlan) -> Iterator[str]:
    """Yield what is wrong with a shard's copy of the plan, and with the version that made it."""
    try:
        copy = sharded_plans.decode(
            item.location.read(shard_folders.PLAN) or b"", shard_folders.PLAN
        )
        if copy.digest != plan.digest:
            yield f"{shard_folders.PLAN}: expected plan {plan.digest:.19}, got {copy.digest:.19}"
    except errors.UsageError as error:
        yield str(error)
    if item.record.versions.get("flake-hunt") != plan.version:
        made = item.record.versions.get("flake-hunt", "no version")
        yield f"{shard_folders.RECORD}: expected Flake Hunt {plan.version}, got {made!r:.40}"


def write(given: GivenShards, folder: pathlib.Path) -> MergedCampaign:
    """Write the merged campaign and return it.

    Raises UsageError if the folder has something else, StorageError or UnwritableError if it cannot
    be written.
    """
    merged, plan = merging.merge(given.plan, given.shards), given.plan
    _require_free(folder, plan)
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    campaign = sharded_plans.campaign(
        plan,
        plan.runs,
        reports=folder.resolve().parent.parent,
        started=given.started,
        jobs=_common_jobs(given.shards),
    )
    sharded_plans.write(folder / shard_folders.PLAN, plan)
    document = _document(given, merged)
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    writing.replace(folder / MERGE, content)
    campaign_plan.write(folder / campaign_folders.PLAN, campaign)
    lines = [msgspec.json.encode(result) + b"\n" for result in merged.results]
    writing.replace(folder / campaign_folders.RESULTS, b"".join(lines))
    return MergedCampaign(
        results=merged.results,
        campaign=campaign_pages.publish(
            results.rows(merged.results), campaign, folder, given.problems
        ),
        merge=document,
    )


def _common_jobs(shards: Sequence[merging.ReadShard]) -> int:
    """Return the number of runs that each machine made at once; 0 if that differs."""
    found = {shard.jobs for shard in shards}
    return found.pop() if len(found) == 1 else 0


def _require_free(folder: pathlib.Path, plan: sharded_plans.ShardedPlan) -> None:
    """Raise UsageError if a folder has anything but an earlier merge of the same plan."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    try:
        earlier = msgspec.json.decode(
            regular_files.content(folder / MERGE), type=merging.MergeDocument
        )
        is_same = earlier.plan == plan.digest
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        is_same = False
    if not is_same:
        raise errors.UsageError(
            f"expected an empty folder, or one with an earlier merge of this plan, got {folder}: "
            "name another one with -o"
        )


def _document(given: GivenShards, merged: merging.Merged) -> merging.MergeDocument:
    return merging.MergeDocument(
        plan=given.plan.digest,
        shards=given.plan.shards,
        planned=len(given.plan.runs),
        missing_shards=merged.missing_shards,
        folders=[*map(_folder, given.shards), *given.damaged],
        missing=merged.missing,
        doubled=merged.doubled,
    )


def _folder(shard: merging.ReadShard) -> merging.MergedFolder:
    return merging.MergedFolder(
        folder=shard.folder,
        shard=shard.number,
        runs=len(shard.found.whole),
        versions=shard.versions,
        problems=shard.found.problems,
    )
