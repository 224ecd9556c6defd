"""Every known defect with all that is known of it, and the scenarios and worlds that show it."""

import collections
import functools
import importlib.resources
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from harness.checks import check_registry
from harness.run.defects import known_defects
from harness.scenario import loading
from harness.subject import releases

FILE = "track_record.json"
SCENARIO = "scenario"
WORLD = "world"
RANDOM = "random"


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """The attempts to find one defect in one place."""

    kind: Literal["scenario", "world", "random"]
    """A scenario of runs, a world of `flake-hunt explore`, or its random worlds."""
    place: str
    """Name of the scenario or world; of random worlds, `random-worlds`."""
    attempts: int
    found: int
    median_s: float | None
    """Time until it was found: seconds of a run, CPU seconds of a search; None: it never was."""
    worst_s: float | None


class TrackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All measured figures."""

    schema: int = 1
    detections: dict[str, list[Detection]]
    """Detections by defect; scenarios before worlds, each sorted by name."""


@functools.cache
def recorded() -> TrackRecord:
    content = importlib.resources.files(__package__).joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=TrackRecord)


def best(detections: list[Detection]) -> Detection | None:
    """Return the most reliable detection, of equals the fastest; None if there is none.

    Reliable is what can be expected of the next attempt, by the rule of succession: 19 of 20 count
    for more than 1 of 1. Random worlds do not count: they are for what has no place of its own.
    """
    placed = [item for item in detections if item.kind != RANDOM]
    proven = [item for item in placed if item.median_s is not None]
    by_rule = lambda item: (-(item.found + 1) / (item.attempts + 2), item.median_s or 0.0)  # noqa: E731
    return min(proven, key=by_rule, default=None)


def seconds(defect: str, scenario: str) -> float | None:
    """Return the median time until a scenario found a defect; None: that was not measured."""
    measured = recorded().detections.get(defect, ())
    return next((item.median_s for item in measured if item.place == scenario), None)


def shown(seconds: float) -> str:
    """Return seconds in three digits after the point below one second, in one from there on."""
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}"


_LETTERS = {check.name: check.guarantee for check in check_registry.CHECKS}


class KnownDefect(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `flake-hunt defects`."""

    name: str
    part: str
    """Part that has it: scheduler, claim-controller, kubelet or driver."""
    guarantee: str
    """The letter of the guarantee that it breaks."""
    check: str
    issues: list[str]
    releases: str
    """The releases that have it, as prose; empty: it was never shipped."""
    as_releases: list[str]
    """Those of `--as` that have it."""
    scenarios: list[str]
    worlds: list[str]
    detections: list[Detection]
    """How often and how fast it was found, in each scenario and world."""
    command: str
    """Arguments of `flake-hunt` that show it most reliably."""
    description: str


def listed() -> list[KnownDefect]:
    scenarios = _scenarios()
    parts = {name: known_defects.actor(name) for name in known_defects.names()}
    order = (*known_defects.PARTS, "driver")
    names = sorted(parts, key=lambda name: (order.index(parts[name]), name))
    return [_row(name, parts[name], scenarios[name]) for name in names]


def _scenarios() -> Mapping[str, list[str]]:
    found = collections.defaultdict(list)
    for name in loading.every_name():
        for defect in loading.load(name).scenario.controls:
            found[defect].append(name)
    return found


def _row(name: str, part: str, scenarios: list[str]) -> KnownDefect:
    defect = known_defects.named(name)
    facts = defect.facts
    detections = recorded().detections.get(name, [])
    return KnownDefect(
        name=name,
        part=part,
        guarantee=_LETTERS[facts.check],
        check=facts.check,
        issues=list(facts.issues),
        releases=facts.releases,
        as_releases=[] if defect.process == "kubelet" else releases.with_defect(name),
        scenarios=scenarios,
        worlds=list(facts.worlds),
        detections=detections,
        command=_of_rule(name, facts.rule)
        if facts.rule
        else _command(name, scenarios, facts.worlds, best(detections)),
        description=defect.description,
    )


def _of_rule(name: str, rule: str) -> str:
    folders = " ".join(
        f"--set {key}={{{key}}}" for key in ("plugins_dir", "registry_dir", "cdi_dir")
    )
    return (
        f"driver-test --rules {rule} 'flake-hunt part driver --kubeconfig {{kubeconfig}} "
        f"--node {{node}} --driver-name {{driver}} {folders} --state {{state_dir}} --devices 8 "
        f"--defect {name}'"
    )


def _command(
    name: str,
    scenarios: Sequence[str],
    worlds: Sequence[str],
    best: Detection | None,
) -> str:
    is_world = not scenarios if best is None else best.kind == WORLD
    place = best.place if best else [*scenarios, *worlds, "--random-worlds"][0]
    return f"{'explore' if is_world else 'run'} {place} --defect {name}"
