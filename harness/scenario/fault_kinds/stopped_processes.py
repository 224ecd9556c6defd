"""A process of the run that ends and starts again, or stands still."""

from collections.abc import Iterator
from typing import Literal

from harness.scenario.fault_kinds import fault
from harness.scenario.fields import Seconds

_ROLE = fault.one_of("scheduler", "claim-controller", "kubelet")


class ProcessFault(fault.RepeatedFault):
    """Base of faults of one process of the run."""

    role: fault.EndedRole = "scheduler"
    """The process; of several schedulers, the leader if they elect one, otherwise the first; of
    several of the driver, the first."""

    once = "down_s"

    def clients(self, run: fault.Run) -> list[str]:
        return run.ended[self.role][:1]

    def ended_process(self, run: fault.Run) -> str:
        return run.ended[self.role][0]

    def objections(self, run: fault.Run) -> Iterator[str]:
        """Yield why no process of the role can be ended."""
        if not run.ended[self.role]:
            yield from fault.role_objections(self.role, run)


class KillProcess(ProcessFault):
    """A process ends with SIGKILL and is started again."""

    kind: Literal["kill-process"]
    down_s: Seconds = 0.5
    """Seconds until it is started again."""

    says = "{process} is killed and starts again {down_s:g} s later{repetition}"
    effect = fault.Effect.RESTART
    clause = "{process} was killed"
    drawn = {"role": _ROLE, "down_s": fault.LAG}


class RestartProcess(ProcessFault):
    """A process ends with SIGTERM, in an orderly way, and is started again."""

    kind: Literal["restart-process"]
    down_s: Seconds = 0.0
    """Seconds until it is started again."""

    says = "{process} is stopped and starts again {down_s:g} s later{repetition}"
    effect = fault.Effect.RESTART
    clause = "{process} was restarted"
    drawn = {"role": _ROLE, "down_s": fault.LAG}


class PauseProcess(ProcessFault):
    """A process stops (SIGSTOP) and continues later (SIGCONT), as after a long pause of its host.

    It does not notice that time has passed.
    """

    kind: Literal["pause-process"]
    seconds: fault.Delay
    """Length of the pause in seconds."""

    once = "seconds"
    says = "{process} stands still for {seconds:g} s{repetition}"
    effect = fault.Effect.PAUSE
    clause = "{process} was paused for {lasted}"
    drawn = {"role": _ROLE, "seconds": fault.PAUSE}


KINDS = (KillProcess, RestartProcess, PauseProcess)
