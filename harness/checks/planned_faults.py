"""The faults of a plan, for checks: what their kinds do, and which confuse schedulers."""

from typing import TYPE_CHECKING

from harness.history import plans
from harness.model.fault_effects import Effect

if TYPE_CHECKING:
    from harness.scenario.fault_kinds import fault

SCHEDULER = "scheduler"
"""Name of the first scheduler, and prefix of the names of others."""
_UNSURE = (
    Effect.LOST_ANSWER,
    Effect.LATE_WRITE,
    Effect.OLD_STATE,
    Effect.RESTART,
    Effect.PAUSE,
)
"""Effects after which a scheduler that they hit does not know whether a pod is bound."""
_MOVING = (Effect.API_SERVER, Effect.MOVED_CLAIM, Effect.TAKE_OVER)
"""Effects on all schedulers, or that take claims from pods."""


def of(kind: str) -> "type[fault.Fault]":
    """Return the kind of this name; one of another version has no effect that checks know."""
    from harness.scenario import fault_kinds  # 0.3 s, with pydantic: only runs with faults need it

    return fault_kinds.of(kind)


def effect_of(kind: str) -> Effect:
    return of(kind).effect


def confuse_schedulers(plan: plans.Plan) -> bool:
    """Return whether a nemesis drew faults after which a scheduler does not know what it has done.

    They show known hazards now and then, by chance; checks that would find these are switched off.
    """
    return any(_confuses(fault) for fault in plan.faults if fault.drawn_by)


def _confuses(fault: plans.PlannedFault) -> bool:
    hits = not fault.clients or any(name.startswith(SCHEDULER) for name in fault.clients)
    effect = effect_of(fault.kind)
    return effect in _MOVING or (hits and effect in _UNSURE)
