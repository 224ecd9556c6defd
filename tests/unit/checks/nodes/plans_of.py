"""Plans with settings of interest, for checks at node level."""

from typing import Any

import msgspec

from harness.history import plans
from tests.histories import building


def plan(settings: dict[str, Any]) -> plans.Plan:
    """A plan of a run with these settings."""
    return msgspec.structs.replace(building.plan(), settings=settings)
