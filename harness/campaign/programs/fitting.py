"""Chooses the scenarios that fit a program, and says of the others why they do not."""

import math
from collections.abc import Callable, Iterable, Sequence

from harness.campaign.programs import tested_programs
from harness.run.defects import defect_records, known_defects
from harness.scenario import cluster_features, hazards, loading, specs, traffic_specs
from harness.scenario.object_sets import set_specs

QUICK = ("pod-churn", "watch-lag", "answer-lost", "failover")
"""Scenarios of `--quick`; none has hundreds of pods, which take minutes on a busy machine."""
DEFAULT = (
    *QUICK,
    "uses-all-resources",
    "shared-claims",
    "throttled",
    "conflict-storm",
    "pools-change",
    "unreserve-gap",
    "reallocated-unseen",
    "stale-list",
)
_LARGE = ("uses-all-resources",)
"""Scenarios with hundreds of pods, for which a small scheduler of any language may need minutes."""
_OF_WATCHES = ("delay-events", "expire-watch")
_SHARING = (traffic_specs.SharedTraffic, traffic_specs.LimitTraffic)
Load = Callable[[str], loading.Loaded]


_FEATURES: dict[str, Callable[[specs.Scenario], bool]] = {
    "claims that pods share": lambda scenario: (
        isinstance(scenario.traffic, _SHARING)
        or any(one.of_kind(set_specs.POD_GROUP) for one in scenario.object_sets)
    ),
    "pods with several claims": lambda scenario: getattr(scenario.traffic, "claims_per_pod", 1) > 1,
    "requests, selectors and constraints": lambda scenario: any(
        not claim.is_plain or claim.selectors or claim.has_admin_access or claim.devices > 1
        for claim in scenario.claim_kinds
    ),
    "extended resources": lambda scenario: any(claim.extended for claim in scenario.claim_kinds),
    "shares of devices": lambda scenario: scenario.pools.has("shares"),
    "partitions of devices": lambda scenario: scenario.pools.has("counters"),
    "devices of several nodes": lambda scenario: scenario.pools.has("several-nodes"),
    "binding conditions": lambda scenario: scenario.pools.has("binding-conditions"),
    "taints of devices": lambda scenario: any(
        item.gate == "DRADeviceTaints" for item in cluster_features.needed(scenario)
    ),
    "PodGroups": cluster_features.has_pod_groups,
    "several schedulers": lambda scenario: len(scenario.subject.schedulers) > 1,
}
"""Features beyond whole devices for claims of a pod each, with what says that a scenario has
them."""


def needed(scenario: specs.Scenario) -> list[str]:
    """Return what a scheduler must know to satisfy the scenario, in words; empty: nothing more."""
    return [name for name, is_needed in _FEATURES.items() if is_needed(scenario)]


def not_tried(chosen: Iterable[str], load: Load) -> list[str]:
    """Return the features that scenarios about schedulers have and none of the chosen ones has."""
    tried = {feature for name in chosen for feature in needed(load(name).scenario)}
    known = {feature for name in _about_schedulers(load) for feature in needed(load(name).scenario)}
    return [name for name in _FEATURES if name in known - tried]


def of_choice(program: tested_programs.TestedProgram, load: Load) -> Sequence[str]:
    """Return the names of the choice; all: those that say something about a scheduler."""
    if program.choice == "all":
        return _about_schedulers(load)
    names = QUICK if program.choice == "quick" else DEFAULT
    if program.kind != "command":
        return names
    return [name for name in names if name not in _LARGE and not needed(load(name).scenario)]


def _about_schedulers(load: Load) -> list[str]:
    return [name for name in loading.SHELF.names() if _is_about_schedulers(load(name).scenario)]


def _is_about_schedulers(scenario: specs.Scenario) -> bool:
    of_scheduler = known_defects.of_part(scenario.controls, "scheduler")
    page = hazards.find(scenario.known_to_fail)
    is_of_hazard = page is not None and "kube-scheduler" in page.hazard.parts
    return bool(of_scheduler) or is_of_hazard or not (scenario.controls or page)


def misfit(program: tested_programs.TestedProgram, scenario: specs.Scenario) -> str:
    """Return why a scenario says nothing of a program; empty: it does."""
    if program.kind == "python":
        return ""
    if scenario.remedies and not scenario.known_to_fail:
        return "its faults include known hazards, of which scenarios of their own ask"
    if unseen := _watched(scenario) & {*program.only_lists}:
        return f"its faults hit watches of {' and '.join(sorted(unseen))}, which the program only lists"
    if len(scenario.subject.schedulers) > 1 and program.kind != "kube-scheduler":
        return "it has several schedulers, which elect a leader as kube-scheduler does"
    if program.kind == "command" and (features := needed(scenario)):
        return (
            f"not every scheduler knows {', '.join(features)}: name the scenario if this one does"
        )
    return ""


def _watched(scenario: specs.Scenario) -> set[str]:
    targets = [(fault.kind, getattr(fault, "on", None)) for fault in scenario.faults]
    return {
        str(on.resource)
        for kind, on in targets
        if on is not None
        and on.role == "scheduler"
        and (kind in _OF_WATCHES or on.verbs == ["watch"])
    }


def controls(
    program: tested_programs.TestedProgram, scenario: specs.Scenario
) -> Sequence[str] | None:
    """Return the known defects that a quick test uses as controls; None: those of the scenario."""
    if program.choice != "quick":
        return None
    if scenario.name != QUICK[0]:
        return []
    return sorted(
        scenario.controls, key=lambda name: defect_records.seconds(name, scenario.name) or math.inf
    )[:1]
