"""Injects faults of processes and of the API server: ends, pauses, restarts, successors."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from harness import errors
from harness.client import apis
from harness.cluster import interfaces, providers
from harness.model import naming
from harness.run import run_processes, supervising
from harness.run.faulting import injecting
from harness.scenario import profiles

API_SERVER = "api-server"
"""Name of the API server in the record."""


def leader_pid(api: apis.Api, *, namespace: str, name: str) -> int | None:
    """Return the process id of the leader of the schedulers of one name, by their Lease.

    None if there is none, if the API server does not answer, or if the holder's name does not end
    with a process id, as that of kube-scheduler does not.
    """
    try:
        lease = api.get(apis.LEASES, name, namespace=namespace)
    except errors.HarnessError:
        return None
    pid = (lease["spec"].get("holderIdentity") or "").rpartition("_")[2]
    return int(pid) if pid.isdecimal() else None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """The calls that end, pause and start a process by its name."""

    living: Callable[[str], str | None]
    """Returns the newest incarnation that still runs; None if none does."""
    kill: Callable[..., object]
    terminate: Callable[..., object]
    pause: Callable[..., object]
    resume: Callable[[str], object]
    start_again: Callable[[str], object]


def of_run(
    supervisor: supervising.Supervisor,
    processes: run_processes.RunProcesses,
    leader_pid: Callable[[], int | None] = lambda: None,
) -> Acting:
    """Return how the run does it; of schedulers with a leader, the leader is hit."""

    def living(name: str) -> str | None:
        pid = leader_pid() if name == naming.scheduler(0) else None
        leader = supervisor.with_pid(pid) if pid is not None else None
        return leader or supervisor.living(name)

    return Acting(
        living=living,
        kill=supervisor.kill,
        terminate=supervisor.terminate,
        pause=supervisor.pause,
        resume=supervisor.resume,
        start_again=processes.start_again,
    )


def of_cluster(process: interfaces.ControlledProcess) -> Acting:
    """Return how the cluster does it with one of its own, such as kube-controller-manager."""
    return Acting(
        living=lambda name: name,  # an end that no fault has made ends the run
        kill=lambda *_, **__: process.end(kill=True),
        terminate=lambda *_, **__: process.end(kill=False),
        pause=lambda *_, **__: process.pause(),
        resume=lambda _: process.resume(),
        start_again=lambda _: process.start_again(),
    )


def acting(process: str, it: injecting.Injection) -> Acting:
    stage = it.stage
    on = providers.of(profiles.restore(stage.plan.cluster_profile)).capabilities
    if process == on.claim_controller_process:
        return of_cluster(stage.cluster.controlled(process))
    subject, namespace = stage.plan.settings["subject"], stage.plan.namespace
    if not subject["leader_election"]:
        return of_run(stage.supervisor, stage.processes)
    api, name = it.connected(), subject["schedulers"][0]["scheduler_name"]
    return of_run(
        stage.supervisor,
        stage.processes,
        lambda: leader_pid(api, namespace=namespace, name=name),
    )


def restart_api_server(it: injecting.Injection) -> None:
    """End the API server and start it again.

    A proxy survives that; the rules of a server that carries them itself do not.
    """
    kill, down_s, stage = it.parameters["kill"], it.parameters["down_s"], it.stage

    def act() -> None:
        detail = "killed and started again" if kill else "stopped and started again"
        with it.effect(API_SERVER, detail) as more:

            def restart() -> None:
                end = stage.cluster.restart_api_server(kill=kill, down_s=down_s)
                more.update(alive_ns=end.alive_ns, dead_ns=end.dead_ns)

            if stage.session is not None and stage.plan.carrier == "server":
                stage.session.across_restart(restart)
            else:
                restart()

    it.repeat(API_SERVER, act)


class ProcessFault:
    """The process of a fault, and what is done to it."""

    def __init__(self, it: injecting.Injection) -> None:
        self.name = it.fault.clients[0]
        self.acting, self._it = acting(self.name, it), it

    def repeat(self, act: Callable[[str], None]) -> None:
        """Act on the process that lives, as often as the scenario says."""
        self._it.repeat(self.name, lambda: act(self._living()))

    def _living(self) -> str:
        found = self.acting.living(self.name)
        if found is None:
            raise errors.FaultError(f"expected {self.name} to run, but it has ended")
        return found

    def kill(self, process: str) -> None:
        self.acting.kill(process, fault=self._it.fault.name)

    def terminate(self, process: str) -> None:
        self.acting.terminate(process, fault=self._it.fault.name)

    def start_again(self, process: str) -> None:
        if not self._it.ending.is_abandoned:
            self.acting.start_again(naming.first_incarnation(process))

    @contextlib.contextmanager
    def down(self, *processes: str) -> Iterator[None]:
        """Wait as long as they are to be down; start them again, whatever happens before."""
        try:
            yield
            self._it.wait(self._it.parameters["down_s"])
        finally:
            for process in processes:
                self.start_again(process)

    @contextlib.contextmanager
    def paused(self, process: str) -> Iterator[None]:
        self.acting.pause(process, fault=self._it.fault.name)
        try:
            yield
        finally:
            self.acting.resume(process)


def end(it: injecting.Injection) -> None:
    """End a process, by SIGKILL or SIGTERM, and start it again."""
    on, is_kill = ProcessFault(it), it.fault.kind == "kill-process"

    def act(process: str) -> None:
        detail = "killed and started again" if is_kill else "restarted"
        with it.effect(process, detail), on.down(process):
            (on.kill if is_kill else on.terminate)(process)

    on.repeat(act)


def pause(it: injecting.Injection) -> None:
    """Let a process stand still for a while."""
    on, seconds = ProcessFault(it), it.parameters["seconds"]

    def act(process: str) -> None:
        with it.effect(process, f"stood still for {seconds:g} s"), on.paused(process):
            it.wait(seconds)

    on.repeat(act)


def take_over(it: injecting.Injection) -> None:
    """Start a second scheduler, which replaces the first; one that is paused goes on in the end."""
    on, overlap_s, ends = ProcessFault(it), it.parameters["overlap_s"], it.parameters["ends"]

    def act(process: str) -> None:
        with it.effect(process, f"another scheduler took over from {process}"):
            if overlap_s:
                on.start_again(process)
                it.wait(overlap_s)
            if ends == "pause":
                it.undo.enter_context(on.paused(process))
            else:
                (on.kill if ends == "kill" else on.terminate)(process)
            if not overlap_s:
                on.start_again(process)

    on.repeat(act)
    if ends == "pause":
        it.ending.over.wait()
