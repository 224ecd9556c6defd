"""A second scheduler that replaces the first."""

from collections.abc import Iterator, Sequence
from typing import Literal

from harness.scenario.fault_kinds import fault
from harness.scenario.fields import Seconds


class TakeOver(fault.Fault):
    """Another scheduler is started and replaces the first, as after a lost leader election."""

    kind: Literal["take-over"]
    ends: Literal["kill", "terminate", "pause"] = "kill"
    """How the first scheduler ends: SIGKILL, SIGTERM, or SIGSTOP until the end of the load,
    after which it continues beside its successor."""
    overlap_s: Seconds = 0.0
    """Seconds by which the second one starts before the first one ends; 0: it starts
    afterwards."""

    effect = fault.Effect.TAKE_OVER
    clause = "another scheduler took over from {process}"
    drawn = {"ends": fault.one_of("kill", "terminate")}  # a paused one would block other faults

    @property
    def length_s(self) -> float:
        """The seconds for which both run."""
        return self.overlap_s

    @property
    def lasts_until_end(self) -> bool:
        """True if the first one is paused."""
        return self.ends == "pause"

    def clients(self, run: fault.Run) -> list[str]:
        """Return the first scheduler."""
        return run.processes["scheduler"][:1]

    def ended_process(self, run: fault.Run) -> str:
        """Return the first scheduler."""
        return run.ended["scheduler"][0]

    def objections(self, run: fault.Run) -> Iterator[str]:
        """Yield why no scheduler can be replaced."""
        yield from fault.role_objections("scheduler", run)

    def what(self, clients: Sequence[str]) -> str:
        """Return how the first scheduler ends, and when the second one starts."""
        process = " and ".join(clients)
        end = {"kill": "killed", "terminate": "stopped", "pause": "paused"}[self.ends]
        if self.overlap_s:
            return f"a second scheduler starts, and {self.overlap_s:g} s later {process} is {end}"
        return f"{process} is {end}, and a second scheduler takes over"


KINDS = (TakeOver,)
