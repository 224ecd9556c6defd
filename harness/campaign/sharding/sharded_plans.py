"""The plan of a campaign over machines, as one file: every run, its settings and its shard.

The same options and seed write the same bytes. A machine needs this file and the
installed package, nothing else: the file has the texts of the scenarios.
"""

import hashlib
import heapq
import pathlib
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

from harness import errors, regular_files, writing
from harness.campaign import campaign_plan
from harness.extensions import discovery, entry_points
from harness.history import files, plans
from harness.run import run_plan
from harness.scenario import loading

SCHEMA_VERSION = 2
_SHORT = 12
"""Digits of a digest in the names of folders."""
_UNKNOWN = "unknown"
"""First word of the commit where there is no checkout."""


class PlannedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario of the plan."""

    given: str
    """Path or name on the command line of `plan`; runs name their scenario by it."""
    text: str
    settings: dict[str, Any]
    pool_objects: bytes = b""
    """The objects of `pools.from` as `imported_pools.Imported` has them; empty without."""


class ShardedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a campaign, decided before the first of them."""

    schema: int = SCHEMA_VERSION
    digest: str = ""
    """`sha256:<hex>` of this document with an empty digest."""
    shards: int
    plugins: list[plans.UsedPlugin]
    scenarios: list[PlannedScenario]
    campaign: campaign_plan.CampaignPlan
    """The whole campaign, without a time and a folder of reports."""

    @property
    def runs(self) -> list[campaign_plan.PlannedRun]:
        return self.campaign.runs

    @property
    def short_digest(self) -> str:
        return self.digest.partition(":")[2][:_SHORT]

    def runs_of(self, shard: int | None) -> list[campaign_plan.PlannedRun]:
        """Return the runs of a shard; None: all runs."""
        return [run for run in self.runs if shard is None or run.shard == shard]


class _Head(msgspec.Struct):
    schema: int


def make(campaign: campaign_plan.CampaignPlan, *, shards: int) -> ShardedPlan:
    """Return a campaign's plan with a shard for each run; raise UsageError for too many."""
    if shards > len(campaign.runs):
        raise errors.UsageError(
            f"expected --shards to be at most {len(campaign.runs)}, the number of runs, got {shards}: "
            "use fewer shards, or raise --repeat"
        )
    numbers = assigned([run.estimate_s for run in campaign.runs], shards)
    runs = [
        msgspec.structs.replace(run, shard=shard)
        for run, shard in zip(campaign.runs, numbers, strict=True)
    ]
    made = ShardedPlan(
        shards=shards,
        plugins=installed_plugins(),
        scenarios=[_scenario(name) for name in dict.fromkeys(run.scenario for run in runs)],
        campaign=msgspec.structs.replace(campaign, reports="", started="", runs=runs),
    )
    return msgspec.structs.replace(made, digest=_digest(msgspec.json.encode(made)))


def assigned(seconds: Sequence[float], shards: int) -> list[int]:
    """Return the number of the shard of each run, from 1, by the seconds that it takes.

    The longest runs go first, each to the shard with the least work so far; of equal ones the
    first, so that runs of equal weight are dealt in turn.
    """
    work = [(0.0, shard) for shard in range(1, shards + 1)]
    numbers = [0] * len(seconds)
    for index in sorted(range(len(seconds)), key=lambda index: (-seconds[index], index)):
        spent, shard = work[0]
        numbers[index] = shard
        heapq.heapreplace(work, (spent + seconds[index], shard))
    return numbers


def _scenario(name: str) -> PlannedScenario:
    loaded = loading.load(name)
    return PlannedScenario(
        given=name,
        text=loaded.text,
        settings=loaded.scenario.model_dump(mode="json"),
        pool_objects=loaded.pool_objects.compressed if loaded.pool_objects else b"",
    )


def _digest(content: bytes) -> str:
    """Return the digest of a plan's content, also if another version wrote it with other keys."""
    document = msgspec.json.decode(content, type=dict[str, Any]) | {"digest": ""}
    ordered = msgspec.json.encode(document, order="deterministic")
    return f"sha256:{hashlib.sha256(ordered).hexdigest()}"


def encode(plan: ShardedPlan) -> bytes:
    return msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"


def write(path: pathlib.Path, plan: ShardedPlan) -> None:
    """Write the file; raise StorageError or UnwritableError if that fails."""
    writing.replace(path, encode(plan))


def read(path: pathlib.Path) -> ShardedPlan:
    """Read the file of a plan; raise UsageError if it is not whole, or of another schema."""
    try:
        content = regular_files.content(path)
        schema = msgspec.json.decode(content, type=_Head).schema
        if schema == SCHEMA_VERSION:
            plan = msgspec.json.decode(content, type=ShardedPlan)
            if _digest(content) == plan.digest:
                return plan
        problem = "its digest is another" if schema == SCHEMA_VERSION else f"its schema is {schema}"
    except (OSError, *files.DECODING) as error:
        problem = str(getattr(error, "strerror", "") or error)
    raise errors.UsageError(
        f"expected a whole plan as this version of `flake-hunt shards plan` writes it, got {path} "
        f"({problem}): copy it again, or write another one"
    )


def installed_plugins() -> list[plans.UsedPlugin]:
    """Return all plug-ins of this machine, by kind and name."""
    return [
        plans.UsedPlugin(
            kind=plugin.kind, name=plugin.name, package=plugin.package, version=plugin.version
        )
        for kind in entry_points.KINDS
        for plugin in discovery.found(kind)
    ]


def require_same_version(plan: ShardedPlan, where: object) -> None:
    """Raise UsageError if another version, or another commit, wrote the plan."""
    here, planned = run_plan.versions(), plan.campaign.versions
    for name in ("flake-hunt", "commit"):
        both = {here[name], planned.get(name, "")}
        if len(both) > 1 and not any(text.startswith(_UNKNOWN) for text in both):
            _refuse(where, f"{name} {here[name]} instead of {planned.get(name, '')!r:.60}")


def require_same_machine(plan: ShardedPlan, where: object) -> None:
    """Raise UsageError if another version wrote the plan, or plug-ins differ."""
    require_same_version(plan, where)
    here, planned = installed_plugins(), plan.plugins
    lacking = [f"no {_named(plugin)}" for plugin in planned if plugin not in here]
    added = [f"also {_named(plugin)}" for plugin in here if plugin not in planned]
    if texts := ", ".join(lacking + added):
        _refuse(where, texts)


def _named(plugin: plans.UsedPlugin) -> str:
    return f"{plugin.name} ({plugin.kind}) of {plugin.package} {plugin.version}"


def _refuse(where: object, differing: str) -> NoReturn:
    raise errors.UsageError(
        f"{where}: expected a plan of what is installed on this machine, which has {differing}: "
        "install what the plan was made with, or write the plan again"
    )
