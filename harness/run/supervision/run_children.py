"""The processes that a run has started, and which of their ends are in order."""

import dataclasses
import signal

from harness import processes
from harness.subject.process import elected_runs


@dataclasses.dataclass(slots=True)
class Child:
    """A process that a run has started."""

    name: str
    process: processes.Process
    foreign: bool
    """It is not one of Flake Hunt's programs."""
    finite: bool
    """It ends by itself when its work is done."""
    elected: bool
    """It is a scheduler with leader election."""
    ended: bool = False
    fault: str = ""
    """Name of the fault that ended it."""
    paused: bool = False

    def has_lost_lease(self, exit_code: int) -> bool:
        """Return whether a scheduler with leader election ended because it lost its lease."""
        if not self.elected or exit_code != elected_runs.LOST_LEASE_CODE:
            return False
        return elected_runs.LOST_LEASE in self.process.log_tail().lower()

    def ends_in_order(self, exit_code: int) -> bool:
        """Return whether an end after SIGTERM is orderly; kube-scheduler ends with 1."""
        return exit_code == 0 or (self.foreign and exit_code != -signal.SIGKILL)
