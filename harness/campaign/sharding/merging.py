"""Merges the results of shards: each planned run counts exactly once.

A run without a result is UNKNOWN and names its shard. Of a run with several results the worst one
counts, so that a second start never hides what the first has found: INVALID or a miss, then
UNKNOWN, then the expected verdict, then an error, which says nothing about the subject.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from harness.campaign import results
from harness.campaign.sharding import chosen_shards, shard_reading, sharded_plans
from harness.checks import verdicts

SCHEMA_VERSION = 1


class MergedFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that was merged."""

    folder: str
    """Its path or URL."""
    shard: int | None
    """Number of its shard, from 1; None: all shards, or it is not known because it is damaged."""
    runs: int = 0
    """Number of planned runs with a result."""
    versions: dict[str, str] = {}
    """Versions on the machine that made the shard."""
    problems: list[str] = []
    """Damage, as sentences."""


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
    """Folder of the result in the table."""
    folder: str
    """Folder of this result."""
    results: list[results.RunResult]
    """All attempts of this result."""


class MergeDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The merge of a campaign's shards."""

    schema: int = SCHEMA_VERSION
    plan: str
    """Digest of the plan."""
    shards: int
    planned: int
    """Number of planned runs."""
    missing_shards: list[int]
    """Shards without a given folder."""
    folders: list[MergedFolder]
    missing: list[MissingRun]
    doubled: list[DoubledRun]


PROBLEMS_MAX = 3
"""Problems of a folder that a missing run names; merge.json has all."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReadShard:
    """The folder of a shard, as it was read."""

    folder: str
    """Its path or URL."""
    number: int | None
    """Number of the shard; None: all shards."""
    started: str
    versions: dict[str, str]
    jobs: int
    """Number of runs that were made at once."""
    found: shard_reading.ShardResults


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Each planned run once, and what is missing and doubled."""

    results: list[results.RunResult]
    missing: list[MissingRun]
    doubled: list[DoubledRun]
    missing_shards: list[int]


@dataclasses.dataclass(frozen=True, slots=True)
class _Made:
    """One result of a run, and the folder it is from."""

    folder: str
    attempts: shard_reading.Attempts


def merge(plan: sharded_plans.ShardedPlan, shards: Sequence[ReadShard]) -> Merged:
    """Return the results of the whole plan."""
    made: dict[int, list[_Made]] = defaultdict(list)
    for shard in shards:
        for number, group in shard.found.whole.items():
            made[number] += [_Made(shard.folder, attempts) for attempts in group]
    found: list[results.RunResult] = []
    missing: list[MissingRun] = []
    doubled: list[DoubledRun] = []
    for run in plan.runs:
        ranked = sorted(made[run.number], key=lambda item: shard_reading.rank(item.attempts))
        if ranked:
            found += ranked[0].attempts
            doubled += [_doubled(run, ranked[0], other) for other in ranked[1:]]
        else:
            missing.append(_missing(run, plan, shards))
            unknown, why = verdicts.Verdict.UNKNOWN, missing[-1].reason
            found.append(run.result(seconds=0.0, verdict=unknown, reason=why, missing=True))
    return Merged(
        results=found,
        missing=missing,
        doubled=doubled,
        missing_shards=_missing_shards(plan, shards),
    )


def _missing_shards(plan: sharded_plans.ShardedPlan, shards: Sequence[ReadShard]) -> list[int]:
    given = {shard.number for shard in shards}
    return [] if None in given else [n for n in range(1, plan.shards + 1) if n not in given]


def _missing(
    run: sharded_plans.ShardedRun, plan: sharded_plans.ShardedPlan, shards: Sequence[ReadShard]
) -> MissingRun:
    name = chosen_shards.name(run.shard, plan.shards)
    own = [shard for shard in shards if shard.number in (None, run.shard)]
    why = f"{name} is missing: none of the folders has it"
    if own:
        reasons = "; ".join(_why(shard, run.number) for shard in own)
        why = f"{name} has no result of this run: {reasons}"
    return MissingRun(number=run.number, run=run.id, shard=run.shard, reason=why)


def _why(shard: ReadShard, number: int) -> str:
    """Return why a shard's folder lacks a run."""
    lines = ", ".join(shard.found.problems[:PROBLEMS_MAX])
    what = shard.found.rejected.get(number) or lines or "it was interrupted, or is under way"
    return f"{what} ({shard.folder})"


def _doubled(run: sharded_plans.ShardedRun, counted: _Made, other: _Made) -> DoubledRun:
    return DoubledRun(
        number=run.number,
        run=run.id,
        counted=counted.folder,
        folder=other.folder,
        results=list(other.attempts),
    )
