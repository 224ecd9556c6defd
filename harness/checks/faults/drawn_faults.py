"""The faults that a nemesis has drawn, after which a scheduler does not know what it has done.

They show known hazards now and then, by chance; the checks that would find these are switched off.
"""

from harness.history import plans
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds.fault import Effect

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


def confuse_schedulers(plan: plans.Plan) -> bool:
    return any(_confuses(fault) for fault in plan.faults if fault.drawn_by)


def _confuses(fault: plans.PlannedFault) -> bool:
    hits = not fault.clients or any(name.startswith(SCHEDULER) for name in fault.clients)
    effect = fault_kinds.of(fault.kind).effect
    return effect in _MOVING or (hits and effect in _UNSURE)
