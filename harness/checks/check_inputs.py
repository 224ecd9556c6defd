"""The input of a check: the plan of the run and the history folded from its records."""

import dataclasses
from collections.abc import Sequence

from harness.checks import hold_history
from harness.history import plans, records


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """The evidence of one run, ready to be judged."""

    plan: plans.Plan
    folded: hold_history.HoldHistory
    phases: Sequence[records.Phase] = ()
    """The phases of the run, in order."""
