"""Rejects a scenario that demands what no run of it can examine (`load.examined`)."""

from harness import errors, suggestions
from harness.checks import check_registry
from harness.history import plans


def require_examinable(plan: plans.Plan) -> None:
    """Raise ScenarioError for an unknown check, and for one that the plan does not ask for."""
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
