"""merge.json: which shards a merged campaign is made of, and what is missing or doubled."""

import msgspec

from harness.campaign import results

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
    """Shards of which no folder was given."""
    folders: list[MergedFolder]
    missing: list[MissingRun]
    doubled: list[DoubledRun]
