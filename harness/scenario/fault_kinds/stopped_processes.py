"""A process of the run that ends and starts again, stands still, or is replaced."""

import random
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from harness.scenario.fault_kinds import fault
from harness.scenario.fields import Seconds


class ProcessFault(fault.RepeatedFault):
    """Base of faults of one process of the run."""

    role: Literal["scheduler", "claim-controller", "kubelet"] = "scheduler"
    """The process; of several schedulers, the leader if they elect one, otherwise the first."""

    is_drawn: ClassVar[bool] = True

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return a role, and the time for which its process is down."""
        return {"role": dice.choice(fault.ENDED_ROLES), "down_s": fault.between(dice, fault.LAG_S)}

    def clients(self, run: fault.Run) -> list[str]:
        """Return the process."""
        return run.ended_processes(self.role)[:1]

    def ended_process(self, run: fault.Run) -> str:
        """Return the process."""
        return run.ended_processes(self.role)[0]

    def objections(self, run: fault.Run) -> Iterator[str]:
        """Yield why no process of the role can be ended."""
        if not run.ended_processes(self.role):
            yield from fault.role_objections(self.role, run)


class KillProcess(ProcessFault):
    """A process ends with SIGKILL and is started again."""

    kind: Literal["kill-process"]
    down_s: Seconds = 0.5
    """Seconds until it is started again."""

    effect: ClassVar[fault.Effect] = fault.Effect.RESTART
    clause: ClassVar[str] = "{process} was killed"

    @property
    def once_s(self) -> float:
        """The seconds for which it is down."""
        return self.down_s

    def what(self, clients: Sequence[str]) -> str:
        """Return how it ends, and when it starts again."""
        process = " and ".join(clients)
        return f"{process} is killed and starts again {self.down_s:g} s later{self.repetition}"


class RestartProcess(ProcessFault):
    """A process ends with SIGTERM, in an orderly way, and is started again."""

    kind: Literal["restart-process"]
    down_s: Seconds = 0.0
    """Seconds until it is started again."""

    effect: ClassVar[fault.Effect] = fault.Effect.RESTART
    clause: ClassVar[str] = "{process} was restarted"

    @property
    def once_s(self) -> float:
        """The seconds for which it is down."""
        return self.down_s

    def what(self, clients: Sequence[str]) -> str:
        """Return how it ends, and when it starts again."""
        process = " and ".join(clients)
        return f"{process} is stopped and starts again {self.down_s:g} s later{self.repetition}"


class PauseProcess(ProcessFault):
    """A process stops (SIGSTOP) and continues later (SIGCONT), as after a long pause of its host.

    It does not notice that time has passed.
    """

    kind: Literal["pause-process"]
    seconds: fault.Delay
    """Length of the pause in seconds."""

    effect: ClassVar[fault.Effect] = fault.Effect.PAUSE
    clause: ClassVar[str] = "{process} was paused for {lasted}"

    @classmethod
    def drawn(cls, dice: random.Random) -> fault.Keys:
        """Return a role and a length."""
        return {
            "role": dice.choice(fault.ENDED_ROLES),
            "seconds": fault.between(dice, fault.PAUSE_S),
        }

    @property
    def once_s(self) -> float:
        """The seconds of one pause."""
        return self.seconds

    def what(self, clients: Sequence[str]) -> str:
        """Return for how long it stands still."""
        return f"{' and '.join(clients)} stands still for {self.seconds:g} s{self.repetition}"


KINDS = (KillProcess, RestartProcess, PauseProcess)
