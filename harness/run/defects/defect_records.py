"""Every known defect with all that is known of it, and the scenarios and worlds that show it."""

import collections
from collections.abc import Mapping, Sequence

import msgspec

from harness.checks import check_registry
from harness.extensions import replacements
from harness.run.defects import known_defects, track_record
from harness.scenario import loading
from harness.subject import releases

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
    detections: list[track_record.Detection]
    """How often and how fast it was found, in each scenario and world."""
    command: str
    """Arguments of `flake-hunt` that show it most reliably."""
    description: str


def listed() -> list[KnownDefect]:
    """Return all known defects, part by part and sorted by name.

    Raises ScenarioError if a shipped scenario cannot be loaded.
    """
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
    detections = track_record.recorded().detections.get(name, [])
    return KnownDefect(
        name=name,
        part=part,
        guarantee=_LETTERS[facts.check],
        check=facts.check,
        issues=list(facts.issues),
        releases="" if facts.releases == replacements.NEVER else str(facts.releases),
        as_releases=[] if defect.process == "kubelet" else releases.with_defect(name),
        scenarios=scenarios,
        worlds=list(facts.worlds),
        detections=detections,
        command=_of_rule(name, facts.rule)
        if facts.rule
        else _command(name, scenarios, facts.worlds, track_record.best(detections)),
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
    best: track_record.Detection | None,
) -> str:
    is_world = not scenarios if best is None else best.kind == track_record.WORLD
    place = best.place if best else [*scenarios, *worlds, "--random-worlds"][0]
    return f"{'explore' if is_world else 'run'} {place} --defect {name}"
