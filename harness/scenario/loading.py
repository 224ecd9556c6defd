"""Loads scenario files."""

import dataclasses
import pathlib
from collections.abc import Sequence

from harness import errors
from harness.scenario import possibility, specs
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


def shipped_names() -> list[str]:
    """Return the names of the shipped scenarios that `hunt --all` includes."""
    return SHELF.names()


def regress_names() -> list[str]:
    """Return the names of the shipped scenarios that each show one known defect."""
    return SHELF.names(REGRESS)


def script_names() -> list[str]:
    """Return the names of the shipped scripts."""
    return SHELF.names(CONFIRM)


def every_name() -> list[str]:
    """Return the names of all shipped scenarios that make load."""
    return [*shipped_names(), *regress_names()]


def expanded(names: Sequence[str]) -> list[str]:
    """Return the names with those of a group in place of the group: `regress`, `confirm`."""
    groups = {REGRESS: regress_names(), CONFIRM: script_names()}
    return [name for given in names for name in groups.get(given, [given])]


def plain_hunt_names() -> list[str]:
    """Return the names of the shipped scenarios that a plain hunt includes."""
    return [name for name in SHELF.names() if load(name).scenario.plain_hunt]


def load(name: str, *, overrides: Sequence[str] = ()) -> Loaded:
    """Load the scenario of this path or name, with `key=value` overrides (dotted keys).

    Raises ScenarioError if it is missing, invalid, or cannot be satisfied.
    """
    path = SHELF.find(name)
    document, text = SHELF.read(path, overrides)
    _read_objects(document, path, overrides)
    scenario: specs.Scenario = SHELF.validate(document, path)
    _require_possible(scenario, path)
    return Loaded(scenario=scenario, text=text, path=path, given=name, overrides=tuple(overrides))


def _read_objects(
    document: documents.Document, path: pathlib.Path, overrides: Sequence[str]
) -> None:
    """Put the content of the files of `traffic.objects` into the document."""
    traffic = document.get("traffic")
    if not isinstance(traffic, dict) or traffic.get("profile") != "objects":
        return
    is_overridden = any(override.startswith(reading.KEY) for override in overrides)
    folder = pathlib.Path() if is_overridden else path.parent
    document["traffic"] = reading.with_sets(traffic, folder)


def _require_possible(scenario: specs.Scenario, path: pathlib.Path) -> None:
    found = list(possibility.objections(scenario))
    if found:
        lines = "\n".join(f"  {objection}" for objection in found)
        raise errors.ScenarioError(f"{path}: expected a scenario that can be satisfied\n{lines}")
