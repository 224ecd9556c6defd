"""The programs of a run whose threads a script holds, and whether they have the places."""

import pathlib
from collections.abc import Sequence

from harness import errors
from harness.cluster.local import binaries
from harness.model import naming
from harness.run import subjects
from harness.scenario import script_specs, specs, subject_specs, thread_places
from harness.threads import go_functions, ptracing


def traced(scenario: specs.Scenario) -> list[str]:
    """Return the processes whose threads the script of a scenario holds."""
    script = scenario.traffic
    if not isinstance(script, script_specs.ScriptTraffic):
        return []
    return list(dict.fromkeys(map(naming.first_incarnation, script.traced)))


def require_places(scenario: specs.Scenario) -> None:
    """Raise UsageError for a place that a program has not, or a program that has no places.

    The subject of the scenario is resolved.
    """
    names = traced(scenario)
    script = scenario.traffic
    if not names or not isinstance(script, script_specs.ScriptTraffic):
        return
    ptracing.require_possible()
    programs = {name: go_functions.GoFunctions(_program(name, scenario)) for name in names}
    for step in script.of_threads:
        place = thread_places.parse(step.at)
        program = programs[naming.first_incarnation(step.client)]
        for pattern in filter(None, (place.function, place.caller)):
            program.matching(pattern)
    for search in (step for step in script.steps if isinstance(step, script_specs.TryOrders)):
        for pattern in search.functions:
            programs[naming.first_incarnation(search.client)].matching(pattern)
    _require_no_pause(script, names)


def _require_no_pause(script: script_specs.ScriptTraffic, names: Sequence[str]) -> None:
    changes = [step for step in script.steps if isinstance(step, script_specs.ChangeProcess)]
    for step in changes:
        if step.do == "pause" and naming.first_incarnation(step.process) in names:
            raise errors.UsageError(
                f"expected no pause of {step.process}, because a script that holds its threads is "
                "the one that stops it: leave out the pause, or the places"
            )


def _program(name: str, scenario: specs.Scenario) -> pathlib.Path:
    """Return the file of a process. Raises UsageError if it is not one of its own in Go."""
    subject = scenario.subject
    parts = dict(zip(subjects.process_names(subject), subject.schedulers, strict=True))
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
