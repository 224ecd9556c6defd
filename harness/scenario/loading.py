"""Loads scenario files."""

import dataclasses
import fnmatch
import pathlib
from collections.abc import Sequence

from harness import errors
from harness.scenario import imported_pools, pool_specs, possibility, specs, threshold_specs
from harness.scenario.object_sets import reading
from harness.scenario.toml_files import documents

REGRESS = "regress"
"""The folder of scenarios that each show one known defect; `hunt regress` runs them."""
CONFIRM = "confirm"
"""The folder of scripts that each show one finding; `confirm` plays them."""
SHELF = documents.Shelf(
    noun="scenario",
    folder_name="scenarios",
    option="--set key=value, as in --set traffic.users=8",
    kind=specs.Scenario,
    plugins="scenarios",
    groups=(REGRESS, CONFIRM),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A scenario with the text it was read from."""

    scenario: specs.Scenario
    text: str
    path: pathlib.Path
    given: str
    """The path or name on the command line."""
    overrides: Sequence[str] = ()
    """The `key=value` overrides."""
    thresholds: Sequence[str] = ()
    """The thresholds of options, such as `claims>=900`."""
    pool_objects: imported_pools.Imported | None = None
    """The objects of `pools.from`; None without."""


def every_name() -> list[str]:
    return [*SHELF.names(), *SHELF.names(REGRESS)]


def expanded(names: Sequence[str]) -> list[str]:
    """Return the names with those that are meant by a group (`regress`, `confirm`) or a glob."""
    groups = {group: SHELF.names(group) for group in (REGRESS, CONFIRM)}
    return [
        name
        for given in names
        for name in groups.get(given) or fnmatch.filter(SHELF.names(), given) or [given]
    ]


def plain_hunt_names() -> list[str]:
    return [name for name in SHELF.names() if load(name).scenario.plain_hunt]


def load(
    name: str, *, overrides: Sequence[str] = (), given_thresholds: Sequence[str] = ()
) -> Loaded:
    """Load the scenario of this path or name, with `key=value` overrides (dotted keys).

    `given_thresholds` are those of options. Raises ScenarioError if it is missing, invalid, or
    cannot be satisfied.
    """
    path = SHELF.find(name)
    document, text = SHELF.read(path, overrides)
    if isinstance(given := document.get("pools"), dict) and "imported" in given:
        raise errors.ScenarioError(
            f"{path}: expected no key `pools.imported`, which is reserved: remove it"
        )
    document = reading.with_sets(document, _folder(path, overrides, reading.KEY))
    scenario: specs.Scenario = SHELF.validate(document, path)
    pools, pool_objects = scenario.pools, None
    if pools.from_:
        folder = _folder(path, overrides, imported_pools.KEY)
        pool_objects = imported_pools.read([str(folder / name) for name in pools.from_])
        pools = with_summary(pools, pool_objects.summary)
    decided = threshold_specs.with_options(scenario.thresholds, given_thresholds)
    scenario = scenario.model_copy(update={"pools": pools, "thresholds": decided})
    if found := list(possibility.objections(scenario)):
        lines = "\n".join(f"  {objection}" for objection in found)
        raise errors.ScenarioError(f"{path}: expected a scenario that can be satisfied\n{lines}")
    return Loaded(
        scenario=scenario,
        text=text,
        path=path,
        given=name,
        overrides=tuple(overrides),
        thresholds=tuple(given_thresholds),
        pool_objects=pool_objects,
    )


def _folder(path: pathlib.Path, overrides: Sequence[str], key: str) -> pathlib.Path:
    """Return the folder of the files that a key names: the current one if an override does."""
    keys = [override.partition("=")[0].strip() for override in overrides]
    return pathlib.Path() if key in keys else path.parent


def with_summary(
    pools: pool_specs.PoolsSpec, summary: pool_specs.ImportedSpec
) -> pool_specs.PoolsSpec:
    """Return the pools of a file with a summary of the objects, and numbers that follow from it.

    Raises ScenarioError for fewer or more nodes than there can be.
    """
    count = summary.nodes * pools.copies
    least = pools.nodes if "nodes" in pools.model_fields_set or not count else 0
    if not count <= pool_specs.NODES_MAX:
        raise errors.ScenarioError(
            f"pools.copies: expected at most {pool_specs.NODES_MAX} nodes, got {count}: "
            f"{summary.nodes} of the files, each {pools.copies} times"
        )
    if least and least < count:
        raise errors.ScenarioError(
            f"pools.nodes: expected at least {count}, the nodes of pools.from, got {least}: "
            "remove the key, or remove nodes from the files"
        )
    described = pools.devices_per_node if "devices_per_node" in pools.model_fields_set else 0
    changes = {"imported": summary, "nodes": max(count, least), "devices_per_node": described}
    return pools.model_copy(update=changes)
