"""The plan of a campaign over machines, as one file: every run, its scenario and its shard.

The same options and seed write the same bytes. A machine needs this file and the
installed package, nothing else: the file has the texts of the scenarios.
"""

import contextlib
import hashlib
import pathlib
import tomllib
from typing import Any

import msgspec
import tomli_w

from harness import errors, writing
from harness.campaign import campaign_plan
from harness.history import directories, files
from harness.run import run_plan
from harness.scenario import imported_pools, loading

SCHEMA_VERSION = 3
_SHORT = 12
"""Digits of a digest in the names of folders."""
_UNKNOWN = "unknown"
"""First word of the commit where there is no checkout."""


class PlannedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario of the plan."""

    number: int
    given: str
    """Path or name on the command line of `plan`; runs name their scenario by it."""
    text: str
    """It names no file but one beside its own, which has `pool_objects`."""
    pool_objects: bytes = b""
    """The objects of `pools.from` as `imported_pools.Imported` has them; empty without."""

    @property
    def file(self) -> str:
        return f"{self.number}-{pathlib.PurePath(self.given).stem}.toml"

    def here(self, folder: pathlib.Path) -> str:
        """Return its name on this machine; it is written to `folder` if there is no such one."""
        with contextlib.suppress(errors.UsageError):
            if loading.load(self.given).text == self.text:
                return self.given
        path = folder / self.file
        with writing.explained(path):
            folder.mkdir(exist_ok=True)
        writing.replace(path, self.text.encode())
        if self.pool_objects:
            imported_pools.save(self.pool_objects, _beside(path))
        return str(path)


def _beside(path: pathlib.Path) -> pathlib.Path:
    return path.with_suffix(f".{directories.POOL_OBJECTS}")


class ShardedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a campaign, decided before the first of them."""

    schema: int = SCHEMA_VERSION
    digest: str = ""
    """`sha256:<hex>` of this document with an empty digest."""
    shards: int
    scenarios: list[PlannedScenario]
    campaign: campaign_plan.CampaignPlan
    """The whole campaign, without a time and a folder of reports."""

    @property
    def runs(self) -> list[campaign_plan.PlannedRun]:
        return self.campaign.runs

    @property
    def short_digest(self) -> str:
        return self.digest.partition(":")[2][:_SHORT]

    def runs_of(self, shard: int) -> list[campaign_plan.PlannedRun]:
        """Return the runs of a shard; 0: all runs."""
        return [run for run in self.runs if shard in (0, run.shard)]


def make(campaign: campaign_plan.CampaignPlan, *, shards: int) -> ShardedPlan:
    """Return a campaign's plan with a shard for each run; raise UsageError for too many.

    The longest runs are dealt first, so that all shards take about the same time.
    """
    if shards > len(campaign.runs):
        raise errors.UsageError(
            f"expected --shards to be at most {len(campaign.runs)}, the number of runs, got {shards}: "
            "use fewer shards, or raise --repeat"
        )
    longest_first = sorted(campaign.runs, key=lambda run: -run.estimate_s)
    dealt = {run.number: 1 + at % shards for at, run in enumerate(longest_first)}
    runs = [msgspec.structs.replace(run, shard=dealt[run.number]) for run in campaign.runs]
    names = dict.fromkeys(run.scenario for run in runs)
    made = ShardedPlan(
        shards=shards,
        scenarios=[_scenario(name, number) for number, name in enumerate(names, start=1)],
        campaign=msgspec.structs.replace(campaign, reports="", started="", runs=runs),
    )
    return msgspec.structs.replace(made, digest=_digest(msgspec.json.encode(made)))


def _scenario(name: str, number: int) -> PlannedScenario:
    loaded = loading.load(name)
    objects, traffic = loaded.pool_objects, loaded.scenario.traffic.model_dump(mode="json")
    made = PlannedScenario(
        number=number,
        given=name,
        text=loaded.text,
        pool_objects=objects.compressed if objects else b"",
    )
    document = tomllib.loads(loaded.text)
    if traffic.get("sets"):
        document["traffic"]["sets"] = traffic["sets"]
    if objects:
        document["pools"]["from"] = [_beside(pathlib.Path(made.file)).name]
    is_changed = bool(objects or traffic.get("sets"))
    return msgspec.structs.replace(made, text=tomli_w.dumps(document)) if is_changed else made


def _digest(content: bytes) -> str:
    """Return the digest of a plan's content, also if another version wrote it with other keys."""
    document = msgspec.json.decode(content, type=dict[str, Any]) | {"digest": ""}
    ordered = msgspec.json.encode(document, order="deterministic")
    return f"sha256:{hashlib.sha256(ordered).hexdigest()}"


def encode(plan: ShardedPlan) -> bytes:
    return msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"


def write(path: pathlib.Path, plan: ShardedPlan) -> None:
    writing.replace(path, encode(plan))


def read(path: pathlib.Path) -> ShardedPlan:
    """Read the file of a plan; raise UsageError if it is not whole, or of another schema."""
    try:
        content = files.read_small(path)
        plan = files.decoded(content, ShardedPlan, schemas=[SCHEMA_VERSION])
        if _digest(content) == plan.digest:
            return plan
        problem = "its digest is another"
    except errors.HistoryError as error:
        problem = str(error)
    raise errors.UsageError(
        f"expected a whole plan as this version of `flake-hunt shards plan` writes it, got {path} "
        f"({problem}): copy it again, or write another one"
    )


def require_same_version(plan: ShardedPlan, where: object) -> None:
    """Raise UsageError if another version, or another commit, wrote the plan."""
    here, planned = run_plan.versions(), plan.campaign.versions
    for name in ("flake-hunt", "commit"):
        both = {here[name], planned.get(name, "")}
        if len(both) > 1 and not any(text.startswith(_UNKNOWN) for text in both):
            raise errors.UsageError(
                f"{where}: expected a plan of what is installed on this machine, which has {name} "
                f"{here[name]} instead of {planned.get(name, '')!r:.60}: install what the plan was "
                "made with, or write the plan again"
            )
