"""Faults that are drawn at random; `run.fault_planning` draws them."""

from typing import Annotated, Literal

import pydantic

from harness.scenario.fault_kinds import fault


class Nemesis(fault.Fault):
    """Faults that are drawn at random from the run's seed when the run is planned."""

    kind: Literal["nemesis"]
    draws: Annotated[int, pydantic.Field(ge=1, le=fault.FAULTS_MAX)] = 6
    """Number of faults."""
    within_s: fault.Delay = 20.0
    """The drawn faults begin within this time, in seconds, from the start of the load."""
    kinds: list[str] = []
    """Kinds to draw from; empty: all that the cluster and the subject allow."""

    may_restart_api_server = True


KINDS = (Nemesis,)
