"""The programs of a run whose threads a script holds, and whether they have the places."""

import pathlib
from collections.abc import Sequence

from harness import errors
from harness.cluster.local import binaries
from harness.model import naming, thread_places
from harness.run import subjects
from harness.scenario import script_specs, specs, subject_specs
from harness.threads import go_functions, messages, ptracing

HOLD_S = [0.001, 0.005, 0.02]
"""Times for which threads are held at random: much shorter than any deadline of a scheduler."""


VISITS_A_SECOND = 5
"""Visits of each function in a second at which threads stop, so that a load goes on."""


def traced(scenario: specs.Scenario) -> list[str]:
    script = scenario.traffic
    if not isinstance(script, script_specs.ScriptTraffic):
        return subjects.owned_schedulers(scenario.subject) if scenario.subject.hold_threads else []
    return list(dict.fromkeys(map(naming.first_incarnation, script.traced)))


def at_random(scenario: specs.Scenario, seed: int) -> messages.Try | None:
    """Return what a tracer begins with; None: it waits for the script."""
    if not scenario.subject.hold_threads:
        return None
    return messages.Try(
        name="random",
        functions=None,
        seed=seed,
        probability=scenario.subject.hold_threads,
        hold_s=HOLD_S,
        busy_visits=VISITS_A_SECOND,
        rest_s=1.0,
    )


def can_be_held(scenario: specs.Scenario) -> bool:
    """Return whether threads can be held at random; not where faults pause the process."""
    owned = subjects.owned_schedulers(scenario.subject)
    pauses = any(fault.kind in ("pause-process", "nemesis") for fault in scenario.faults)
    is_script = isinstance(scenario.traffic, script_specs.ScriptTraffic)
    if pauses or is_script or not owned:
        return False
    try:
        ptracing.require_possible()
        return all(go_functions.GoFunctions(_program(name, scenario)).names for name in owned)
    except errors.UsageError:
        return False


def require_places(scenario: specs.Scenario) -> None:
    """Raise UsageError for a place that a program has not, or a program without places."""
    names = traced(scenario)
    if not names:
        return
    python = subjects.python_parts(scenario.subject)
    if others := [name for name in names if name not in python]:
        ptracing.require_possible()
    programs = {name: go_functions.GoFunctions(_program(name, scenario)) for name in others}
    script = scenario.traffic
    if not isinstance(script, script_specs.ScriptTraffic):
        return
    for step in script.of_threads:
        if naming.first_incarnation(step.client) in python:
            _require_step(step)
            continue
        place = thread_places.parse(step.at)
        program = programs[naming.first_incarnation(step.client)]
        for pattern in filter(None, (place.function, place.caller)):
            program.matching(pattern)
    for search in (step for step in script.steps if isinstance(step, script_specs.TryOrders)):
        if search.client in python:
            raise errors.UsageError(
                f"expected a {search.client} in Go, whose orders of threads can be tried: those of the "
                "Python scheduler are searched by `flake-hunt explore`, without --program"
            )
        for pattern in search.functions:
            programs[naming.first_incarnation(search.client)].matching(pattern)
    _require_no_pause(script, names)


def _require_step(step: script_specs.OfThread) -> None:
    if not step.step:
        raise errors.UsageError(
            f"expected a key `step` beside `at` ({step.at}) for the Python {step.client}, which has "
            "named steps instead of functions of Go: choose a program in Go, as --subject "
            "kube-scheduler=PATH, or name a step, which steps-scheduler.jsonl of any run has"
        )


def _require_no_pause(script: script_specs.ScriptTraffic, names: Sequence[str]) -> None:
    changes = [step for step in script.steps if isinstance(step, script_specs.ChangeProcess)]
    for step in changes:
        if step.do == "pause" and naming.first_incarnation(step.process) in names:
            raise errors.UsageError(
                f"expected no pause of {step.process}, because a script that holds its threads is "
                "the one that stops it: leave out the pause, or the places"
            )


def _program(name: str, scenario: specs.Scenario) -> pathlib.Path:
    subject = scenario.subject
    parts = dict(subjects.schedulers(subject))
    match parts.get(name, subject.claim_controller):
        case subject_specs.KubeScheduler(binary=binary):
            return pathlib.Path(binary)
        case subject_specs.KubeControllerManager(binary=binary):
            return pathlib.Path(binary)
        case subject_specs.CommandScheduler(command=[program, *_]):
            return binaries.program(program)
    raise errors.UsageError(
        f"expected a {name} that is a program in Go, because the script holds its threads at "
        "functions: choose one, as --subject kube-scheduler=PATH"
    )
