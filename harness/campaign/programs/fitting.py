"""Chooses the scenarios that fit a program, and says of the others why they do not."""

import math
from collections.abc import Callable, Iterator, Sequence

import msgspec

from harness import errors
from harness.campaign.programs import features, tested_programs
from harness.run.defects import known_defects, track_record
from harness.scenario import hazards, loading, specs

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
"""Scenarios of a test that asks for nothing else."""
_LARGE = ("uses-all-resources",)
"""Scenarios with hundreds of pods, for which a small scheduler of any language may need minutes."""
_OF_WATCHES = ("delay-events", "expire-watch")
"""Kinds of faults of watches."""
Planner = Callable[[str], object]
"""Plans a run of a scenario; raises UsageError or ScenarioError for one that cannot work."""


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The scenarios of a test."""

    names: list[str]
    left_out: list[tested_programs.LeftOut]
    not_tried: list[str]


def choose(program: tested_programs.TestedProgram, plan: Planner) -> Chosen:
    """Return the scenarios of the program's choice that fit it.

    Raises the error of the first scenario if none fits.
    """
    left_out: list[tested_programs.LeftOut] = []
    names: list[str] = []
    first: errors.HarnessError | None = None
    for name in _of_choice(program):
        reason = _misfit(program, loading.load(name).scenario)
        try:
            _ = reason or plan(name)
        except (errors.UsageError, errors.ScenarioError) as error:
            first, reason = first or error, str(error)
        if reason:
            left_out.append(tested_programs.LeftOut(scenario=name, reason=reason))
        else:
            names.append(name)
    if not names and first is not None:
        raise first
    return Chosen(names=names, left_out=left_out, not_tried=_not_tried(names))


def _of_choice(program: tested_programs.TestedProgram) -> Sequence[str]:
    """Return the names of the choice; all: those that say something about a scheduler."""
    if program.choice == "all":
        return list(_about_schedulers())
    names = QUICK if program.choice == "quick" else DEFAULT
    if program.kind != "command":
        return names
    return [name for name in names if name not in _LARGE and not _needs_more(name)]


def _needs_more(name: str) -> bool:
    """Return whether a scenario asks for more than every scheduler of DRA must know."""
    return bool(features.needed(loading.load(name).scenario))


def _about_schedulers() -> Iterator[str]:
    for name in loading.shipped_names():
        scenario = loading.load(name).scenario
        of_scheduler = known_defects.of_part(scenario.controls, "scheduler")
        page = hazards.find(scenario.known_to_fail)
        is_of_hazard = page is not None and "kube-scheduler" in page.hazard.parts
        if of_scheduler or is_of_hazard or not (scenario.controls or page):
            yield name


def _misfit(program: tested_programs.TestedProgram, scenario: specs.Scenario) -> str:
    """Return why a scenario says nothing of a program; empty: it does."""
    if program.kind == "python":
        return ""
    if scenario.remedies and not scenario.known_to_fail:
        return "its faults include known hazards, of which scenarios of their own ask"
    if unseen := _watched(scenario) & {*program.only_lists}:
        return f"its faults hit watches of {' and '.join(sorted(unseen))}, which the program only lists"
    if len(scenario.subject.schedulers) > 1 and program.kind != "kube-scheduler":
        return "it has several schedulers, which elect a leader as kube-scheduler does"
    if program.kind == "command" and (needed := features.needed(scenario)):
        return f"not every scheduler knows {', '.join(needed)}: name the scenario if this one does"
    return ""


def _watched(scenario: specs.Scenario) -> set[str]:
    """Return the resources whose watches by the scheduler are hit by faults of the scenario."""
    targets = [(fault.kind, getattr(fault, "on", None)) for fault in scenario.faults]
    return {
        str(on.resource)
        for kind, on in targets
        if on is not None
        and on.role == "scheduler"
        and (kind in _OF_WATCHES or on.verbs == ["watch"])
    }


def _not_tried(names: Sequence[str]) -> list[str]:
    every = (loading.load(name).scenario for name in _about_schedulers())
    chosen = (loading.load(name).scenario for name in names)
    return features.missing(chosen, every)


def controls(
    program: tested_programs.TestedProgram, scenario: specs.Scenario
) -> Sequence[str] | None:
    """Return the known defects that a quick test uses as controls; None: those of the scenario."""
    if program.choice != "quick":
        return None
    if scenario.name != QUICK[0]:
        return []
    return sorted(
        scenario.controls, key=lambda name: track_record.seconds(name, scenario.name) or math.inf
    )[:1]
