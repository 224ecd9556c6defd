"""A script without one of its steps."""

import dataclasses

from harness.scenario import loading, script_specs

_OF_USERS = (script_specs.Create, script_specs.Delete, script_specs.Patch)


def without(loaded: loading.Loaded, number: int) -> loading.Loaded | None:
    """Return the scenario without the step of this number, and without those that refer to it.

    None: the step is a user's, or nothing of the order would be left.
    """
    script = loaded.scenario.traffic
    if not isinstance(script, script_specs.ScriptTraffic):
        return None
    gone = script.steps[number - 1]
    names = {gone.name} if gone.name else set()
    kept = [
        step
        for step in script.steps
        if step is not gone
        and not names & {getattr(step, key, None) for key in ("since", "request", "hold")}
    ]
    if isinstance(gone, _OF_USERS) or all(isinstance(step, _OF_USERS) for step in kept):
        return None
    shorter = script.model_copy(update={"steps": kept})
    scenario = loaded.scenario.model_copy(update={"traffic": shorter})
    return dataclasses.replace(loaded, scenario=scenario)
