"""Processes and nodes that end and start again, stand still, or are replaced."""

from collections.abc import Iterator, Sequence
from typing import Literal

from harness.scenario.fault_kinds import fault
from harness.scenario.fields import Seconds

_RESTARTABLE = {"embedded": "add --cluster storage=disk"}
"""How the API server of a provider can be made restartable."""
_ROLE = fault.one_of("scheduler", "claim-controller", "kubelet")


class RestartApiServer(fault.RepeatedFault):
    """The API server ends and starts again on its data."""

    kind: Literal["restart-api-server"]
    kill: bool = False
    """End it with SIGKILL instead of in an orderly way."""
    down_s: Seconds = 0.5
    """Seconds between its end and its new start."""

    once = "down_s"
    effect = fault.Effect.API_SERVER
    clause = "the API server was restarted"
    drawn = {"kill": lambda dice: dice.random() < 0.5, "down_s": fault.LAG}
    may_restart_api_server = True

    def objections(self, run: fault.Run) -> Iterator[str]:
        if not run.is_alone:
            yield (
                "expected a cluster of this run alone, because others would lose their API server: "
                "use --cluster embedded, local or kind, or remove the fault"
            )
        elif not run.restarts_api_server:
            remedy = _RESTARTABLE.get(run.provider, "use --cluster local")
            yield (
                "expected a cluster whose API server can be restarted on its data, got "
                f"{run.provider!r}, which cannot: {remedy}, or remove the fault"
            )

    def what(self, clients: Sequence[str]) -> str:
        del clients
        end = "is killed" if self.kill else "is stopped"
        return f"the API server {end} and starts again {self.down_s:g} s later{self.repetition}"


class ProcessFault(fault.RepeatedFault):
    """Base of faults of one process of the run."""

    role: fault.EndedRole = "scheduler"
    """The process; of several schedulers, the leader if they elect one, otherwise the first; of
    several of the driver, the first."""

    once = "down_s"
    ends_process = True

    def clients(self, run: fault.Run) -> list[str]:
        return run.ended[self.role][:1]

    def objections(self, run: fault.Run) -> Iterator[str]:
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
    ends_process = True
    drawn = {"ends": fault.one_of("kill", "terminate")}  # a paused one would block other faults

    @property
    def length_s(self) -> float:
        return self.overlap_s

    @property
    def lasts_until_end(self) -> bool:
        return self.ends == "pause"

    def clients(self, run: fault.Run) -> list[str]:
        return run.processes["scheduler"][:1]

    def objections(self, run: fault.Run) -> Iterator[str]:
        yield from fault.role_objections("scheduler", run)

    def what(self, clients: Sequence[str]) -> str:
        process = " and ".join(clients)
        end = {"kill": "killed", "terminate": "stopped", "pause": "paused"}[self.ends]
        if self.overlap_s:
            return f"a second scheduler starts, and {self.overlap_s:g} s later {process} is {end}"
        return f"{process} is {end}, and a second scheduler takes over"


KUBELET = "kubelet-2"
"""Process of the kubelet of the node that may be lost or rebooted."""


class NodeFault(fault.RepeatedFault):
    """Base of faults of the last node, whose kubelet is a process of its own."""

    needs_own_kubelet = True
    ends_process = True

    def clients(self, run: fault.Run) -> list[str]:
        del run
        return [KUBELET]

    def objections(self, run: fault.Run) -> Iterator[str]:
        if run.pools.nodes < 2:
            yield "expected another node that is left, got pools.nodes = 1: add nodes"
        places = {kind.place for kind in run.pools.more}
        of_files = "several-nodes" in getattr(run.pools.imported, "has", ())
        if of_files or places & {"zone", "cluster"}:
            yield (
                "expected devices of one node each, because the driver of the last node is a "
                "process of its own, got pools of several nodes: remove them"
            )


class LoseNode(NodeFault):
    """The last node is lost: its kubelet is killed, and its pods are deleted by force."""

    kind: Literal["lose-node"]
    down_s: Seconds = 2.0
    """Seconds until it comes back with another kubelet process; its containers run on
    meanwhile."""
    comes_back: bool = True
    """false: it never does, and is removed with its ResourceSlices; `times` is 1 then."""

    effect = fault.Effect.LOST_NODE
    loses_node = True

    @property
    def length_s(self) -> float:
        away_s = self.down_s if self.comes_back else 0.0
        return self.times * away_s + (self.times - 1) * self.interval_s

    def what(self, clients: Sequence[str]) -> str:
        end = f"comes back {self.down_s:g} s later" if self.comes_back else "is removed"
        return (
            f"the last node is lost with {' and '.join(clients)}, its pods are deleted, and it "
            f"{end}{self.repetition}"
        )


class RebootNode(NodeFault):
    """The last node is rebooted.

    Its kubelet and its driver are killed, its containers end, and its CDI folder is empty, as
    `/var/run` is in memory. The checkpoints of both stay. The next kubelet process finds another
    boot id, and starts the containers of the pods that are left again, for which it has their
    claims prepared again.
    """

    kind: Literal["reboot-node"]
    down_s: Seconds = 1.0
    """Seconds until its kubelet and its driver run again."""

    once = "down_s"
    says = "the last node is rebooted: {process} runs again {down_s:g} s later{repetition}"
    effect = fault.Effect.REBOOT

    def objections(self, run: fault.Run) -> Iterator[str]:
        yield from super().objections(run)
        if not run.reboots_driver:
            yield (
                "expected a driver that ends with its node, got one of several nodes, or of others: "
                "name {node} in the command of subject.driver, or set it to 'socket'"
            )


KINDS = (
    *(RestartApiServer, KillProcess, RestartProcess, PauseProcess, TakeOver),
    *(LoseNode, RebootNode),
)
