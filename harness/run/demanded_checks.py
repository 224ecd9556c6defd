"""Rejects a scenario that demands what no run of it can examine (`load.examined`).

Runs without our own scheduler or claim controller need not examine what only their steps show: the
verdict names it as not examined.
"""

import msgspec

from harness import errors, suggestions
from harness.checks import check_registry
from harness.history import plans
from harness.run import subjects


def examinable(plan: plans.Plan) -> plans.Plan:
    """Return the plan with the demanded checks that its parts allow.

    Raises ScenarioError for an unknown check, and for one that examines nothing whatever the parts.
    """
    _require_examinable(plan)
    wanted = plan.requirements
    checks = {check.name: check for check in check_registry.CHECKS}
    kept = [name for name in wanted.examined if name not in checks or checks[name].applies(plan)]
    requirements = msgspec.structs.replace(wanted, examined=kept)
    return msgspec.structs.replace(plan, requirements=requirements)


def _require_examinable(plan: plans.Plan) -> None:
    ours = [subjects.PROCESS, subjects.CONTROLLER]
    plan = msgspec.structs.replace(plan, expected_steps=[*plan.expected_steps, *ours])
    checks = {check.name: check for check in check_registry.CHECKS}
    others = [used.name for used in plan.plugins if used.kind == "checks"]
    for name in plan.requirements.examined:
        if name in others:
            continue
        if name not in checks:
            raise errors.ScenarioError(
                f"load.examined: expected names of checks, got {name!r}. The checks are: "
                f"{', '.join([*checks, *others])}.{suggestions.did_you_mean(name, [*checks, *others])}"
            )
        if not checks[name].applies(plan):
            raise errors.ScenarioError(
                f"load.examined: {name} examines nothing in a run of {plan.scenario}, because the "
                "scenario has nothing of that kind. Remove the name, or change the scenario"
            )
