"""The plan of a campaign over machines, as one file: every run, its settings and its shard.

The same options, seed and known durations write the same bytes. A machine needs this file and the
installed package, nothing else: the file has the texts of the scenarios.
"""

import hashlib
import heapq
import pathlib
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from harness import errors, regular_files, writing
from harness.campaign import campaign_plan
from harness.campaign.programs import tested_programs
from harness.campaign.sharding import run_durations
from harness.extensions import discovery, entry_points
from harness.history import plans
from harness.run import run_plan
from harness.scenario import loading


def installed_plugins() -> list[plans.UsedPlugin]:
    """Return all plug-ins of this machine, by kind and name."""
    return [
        plans.UsedPlugin(
            kind=plugin.kind, name=plugin.name, package=plugin.package, version=plugin.version
        )
        for kind in entry_points.KINDS
        for plugin in discovery.found(kind)
    ]


def require_same_plugins(planned: Sequence[plans.UsedPlugin], where: str) -> None:
    """Raise UsageError if a plug-in of the plan is not here, or another one is."""
    here = installed_plugins()
    missing = [plugin for plugin in planned if plugin not in here]
    added = [plugin for plugin in here if plugin not in planned]
    if missing:
        raise errors.UsageError(
            f"{where}: expected the plug-ins of the plan on this machine, which lacks "
            f"{_names(missing)}: install them, or name their folders in FLAKE_HUNT_PLUGINS"
        )
    if added:
        raise errors.UsageError(
            f"{where}: expected the plug-ins of the plan on this machine, which also has "
            f"{_names(added)}: uninstall them, or write the plan again"
        )


def _names(plugins: Sequence[plans.UsedPlugin]) -> str:
    return ", ".join(
        f"{plugin.name} ({plugin.kind}) of {plugin.package} {plugin.version}" for plugin in plugins
    )


SCHEMA_VERSION = 1
_SHORT = 12
"""Digits of a digest in the names of folders."""
_UNKNOWN_S = 1.0
"""Weight of every run if no duration is known: each shard then gets as many runs."""
_UNKNOWN = "unknown"
"""First word of the commit where there is no checkout."""


class PlannedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario of the plan."""

    given: str
    """Path or name on the command line of `plan`; runs name their scenario by it."""
    text: str
    """The scenario's file, verbatim."""
    settings: dict[str, Any]
    """The scenario with all defaults."""
    pool_objects: bytes = b""
    """The objects of `pools.from` as `importing.Imported` has them; empty without."""


class ShardedRun(campaign_plan.PlannedRun, frozen=True, kw_only=True, omit_defaults=True):
    """A planned run with its shard."""

    shard: int
    """Number of its shard, from 1."""
    expected_s: float | None = None
    """Seconds that such runs took in earlier campaigns; None: not known."""


class ShardedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a campaign, decided before the first of them."""

    schema: int = SCHEMA_VERSION
    digest: str = ""
    """`sha256:<hex>` of this document with an empty digest."""
    version: str
    """Version of Flake Hunt; another one does not make the runs of this plan."""
    commit: str
    """Commit of the checkout, or why it is unknown."""
    shards: int
    """Number of shards."""
    seed: int
    cluster: dict[str, Any]
    """The cluster profile after overrides; each machine has its own cluster."""
    again: list[str] = []
    """Arguments of `flake-hunt` that make the same campaign on one machine."""
    selection: list[str] = []
    """Sentences that say which runs were left out of the plan on purpose."""
    versions: dict[str, str] = {}
    """Versions where the plan was made."""
    plugins: list[plans.UsedPlugin] = []
    """Plug-ins where the plan was made."""
    program: tested_programs.TestedProgram | None = None
    """The program of a test; None: a hunt."""
    scenarios: list[PlannedScenario]
    runs: list[ShardedRun]

    @property
    def short_digest(self) -> str:
        """The first digits of the digest, for names of folders."""
        return self.digest.partition(":")[2][:_SHORT]

    def runs_of(self, shard: int | None) -> list[ShardedRun]:
        """Return the runs of a shard; None: all runs."""
        return [run for run in self.runs if shard is None or run.shard == shard]


class _Head(msgspec.Struct):
    schema: int
    version: str
    digest: str
    shards: int


def make(
    plan: campaign_plan.CampaignPlan,
    *,
    shards: int,
    durations: Mapping[run_durations.Kind, float],
) -> ShardedPlan:
    """Return a campaign's plan with a shard for each run.

    `durations` are seconds by kind of run. Raises UsageError for more shards than runs.
    """
    if shards > len(plan.runs):
        raise errors.UsageError(
            f"expected --shards to be at most {len(plan.runs)}, the number of runs, got {shards}: "
            "use fewer shards, or raise --repeat"
        )
    expected = [durations.get((run.title, run.subject)) for run in plan.runs]
    numbers = assigned(expected, shards)
    made = ShardedPlan(
        version=plan.versions["flake-hunt"],
        commit=plan.versions["commit"],
        shards=shards,
        seed=plan.seed,
        cluster=plan.cluster,
        again=plan.again,
        selection=plan.selection,
        versions=plan.versions,
        plugins=installed_plugins(),
        program=plan.program,
        scenarios=[_scenario(name) for name in dict.fromkeys(run.scenario for run in plan.runs)],
        runs=[
            ShardedRun(**msgspec.structs.asdict(run), shard=shard, expected_s=seconds)
            for run, shard, seconds in zip(plan.runs, numbers, expected, strict=True)
        ],
    )
    return msgspec.structs.replace(made, digest=_digest(msgspec.json.encode(made)))


def assigned(expected: Sequence[float | None], shards: int) -> list[int]:
    """Return the number of the shard of each run, from 1.

    `expected` are the seconds of each run; None: not known, which counts as the median of the
    known ones. The longest runs go first, each to the shard with the least work so far; of equal
    ones the first, so that runs of equal weight are dealt in turn.
    """
    known = [seconds for seconds in expected if seconds is not None]
    unknown = statistics.median(known) if known else _UNKNOWN_S
    weights = [unknown if seconds is None else seconds for seconds in expected]
    work = [(0.0, shard) for shard in range(1, shards + 1)]
    numbers = [0] * len(weights)
    for index in sorted(range(len(weights)), key=lambda index: (-weights[index], index)):
        spent, shard = work[0]
        numbers[index] = shard
        heapq.heapreplace(work, (spent + weights[index], shard))
    return numbers


def _scenario(name: str) -> PlannedScenario:
    loaded = loading.load(name)
    settings = loaded.scenario.model_dump(mode="json")
    return PlannedScenario(
        given=name,
        text=loaded.text,
        settings=settings,
        pool_objects=loaded.pool_objects.compressed if loaded.pool_objects else b"",
    )


def _digest(content: bytes) -> str:
    """Return the digest of a plan's content, also if another version wrote it with other keys."""
    document = msgspec.json.decode(content, type=dict[str, Any]) | {"digest": ""}
    ordered = msgspec.json.encode(document, order="deterministic")
    return f"sha256:{hashlib.sha256(ordered).hexdigest()}"


def encode(plan: ShardedPlan) -> bytes:
    """Return the file's content."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"


def write(path: pathlib.Path, plan: ShardedPlan) -> None:
    """Write the file; raise StorageError or UnwritableError if that fails."""
    writing.replace(path, encode(plan))


def read(path: pathlib.Path) -> ShardedPlan:
    """Read the file of a plan.

    Raises UsageError if it cannot be read, is not whole, or is of another schema.
    """
    try:
        content = regular_files.content(path)
    except OSError as error:
        raise errors.UsageError(
            f"expected a plan that `flake-hunt shards plan` wrote, got {path}, which cannot be read "
            f"({(error.strerror or str(error)).lower()}): name its file"
        ) from error
    return decode(content, str(path))


def decode(content: bytes, where: str) -> ShardedPlan:
    """Return the plan with this content; `where` names it in messages.

    Raises UsageError if it is not whole or of another schema.
    """
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.schema == SCHEMA_VERSION:
            plan = msgspec.json.decode(content, type=ShardedPlan)
            if _digest(content) == plan.digest:
                return plan
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.UsageError(
            f"{where}: expected a whole plan that `flake-hunt shards plan` wrote, got something else "
            f"({error}): copy it again, or write another one"
        ) from error
    if head.schema != SCHEMA_VERSION:
        raise errors.UsageError(
            f"{where}: expected a plan of schema {SCHEMA_VERSION}, got schema {head.schema} of "
            f"Flake Hunt {head.version!r:.40}: use that version, or write the plan again"
        )
    raise errors.UsageError(
        f"{where}: expected a plan as `flake-hunt shards plan` wrote it, got one that was changed "
        "afterwards (its digest is another): write another plan with the options that you want"
    )


def require_same_version(plan: ShardedPlan, where: str) -> None:
    """Raise UsageError if another version, or another commit, wrote the plan."""
    here = run_plan.versions()
    if plan.version != here["flake-hunt"]:
        raise errors.UsageError(
            f"{where}: expected a plan of Flake Hunt {here['flake-hunt']}, which runs here, got one "
            f"of {plan.version!r:.40}: install that version here, or write the plan again"
        )
    commits = (plan.commit, here["commit"])
    if len(set(commits)) > 1 and not any(commit.startswith(_UNKNOWN) for commit in commits):
        raise errors.UsageError(
            f"{where}: expected a plan of commit {here['commit']}, which runs here, got one of "
            f"{plan.commit!r:.60}: check that commit out here, or write the plan again"
        )


def campaign(
    plan: ShardedPlan,
    runs: Sequence[ShardedRun],
    *,
    reports: pathlib.Path,
    started: str,
    jobs: int,
) -> campaign_plan.CampaignPlan:
    """Return the plan of a campaign that makes some of the runs on one machine."""
    return campaign_plan.CampaignPlan(
        seed=plan.seed,
        reports=str(reports.resolve()),
        cluster=plan.cluster,
        started=started,
        jobs=jobs,
        again=plan.again,
        selection=plan.selection,
        versions=plan.versions,
        program=plan.program,
        runs=list(runs),
    )
