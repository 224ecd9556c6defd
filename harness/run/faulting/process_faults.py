"""Injects faults of processes and of the API server: ends, pauses, restarts, successors."""

import dataclasses
from collections.abc import Callable

from harness import errors
from harness.client import apis
from harness.cluster import interfaces, providers
from harness.history import plans
from harness.model import naming
from harness.run import run_processes, supervising
from harness.run.faulting import fault_journal, injecting
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


def acting(process: str, stage: injecting.Stage) -> Acting:
    on = providers.of(profiles.restore(stage.plan.cluster_profile)).capabilities
    if process == on.claim_controller_process and isinstance(
        stage.cluster, interfaces.ControlsProcesses
    ):
        return of_cluster(stage.cluster.process(process))
    subject, namespace = stage.plan.settings["subject"], stage.plan.namespace
    if not subject["leader_election"]:
        return of_run(stage.supervisor, stage.processes)
    api, name = stage.connected(), subject["schedulers"][0]["scheduler_name"]
    return of_run(
        stage.supervisor,
        stage.processes,
        lambda: leader_pid(api, namespace=namespace, name=name),
    )


class _RunFault(injecting.Injection):
    """Base of faults that the run injects: effects are counted when they begin.

    Those of one process wait for each other.
    """

    needs_subject = True
    _process = API_SERVER

    def _repeat(self, ending: injecting.Ending, action: Callable[[], None]) -> None:
        for number in range(self._parameters["times"]):
            if number and ending.over.wait(self._parameters["interval_s"]):
                return
            self._once_at_a_time(ending, action)

    def _once_at_a_time(self, ending: injecting.Ending, action: Callable[[], None]) -> None:
        with self._stage.guard(self._process):
            if not ending.over.is_set():
                action()

    def _effect(self, process: str, detail: str) -> fault_journal.Effect:
        return self._journal.effect(self._fault.name, self._fault.kind, process, detail)


class RestartedApiServer(_RunFault):
    """The API server ends and starts again.

    A proxy survives that; the rules of a server that carries them itself do not.
    """

    def last(self, ending: injecting.Ending) -> None:
        self._repeat(ending, self._restart_once)

    def _restart_once(self) -> None:
        kill = self._parameters["kill"]
        detail = "killed and started again" if kill else "stopped and started again"
        with self._effect(API_SERVER, detail) as more:

            def restart() -> None:
                down_s = self._parameters["down_s"]
                end = self._stage.cluster.restart_api_server(kill=kill, down_s=down_s)
                more.update(alive_ns=end.alive_ns, dead_ns=end.dead_ns)

            session = self._stage.session
            if session is not None and self._stage.plan.carrier == "server":
                session.across_restart(restart)
            else:
                restart()


class ProcessFault(_RunFault):
    """Base of faults of one process."""

    def __init__(self, fault: plans.PlannedFault, stage: injecting.Stage) -> None:
        super().__init__(fault, stage)
        self._process = fault.clients[0]
        self._processes = acting(self._process, stage)
        self._down = ""
        """Process that has to be started again; empty: none."""
        self._paused = ""
        """Process that has to be continued; empty: none."""

    def last(self, ending: injecting.Ending) -> None:
        self._repeat(ending, lambda: self._act(ending, self._living()))

    def heal(self, ending: injecting.Ending) -> None:
        if self._paused:
            self._resume()
        if self._down and not ending.is_abandoned:
            self._start_again(self._down)

    def _act(self, ending: injecting.Ending, process: str) -> None:
        raise NotImplementedError

    def _living(self) -> str:
        found = self._processes.living(self._process)
        if found is None:
            raise errors.FaultError(f"expected {self._process} to run, but it has ended")
        return found

    def _start_again(self, process: str) -> None:
        self._processes.start_again(naming.first_incarnation(process))
        self._down = ""

    def _pause(self, process: str) -> None:
        self._paused = process
        self._processes.pause(process, fault=self._fault.name)

    def _resume(self) -> None:
        paused, self._paused = self._paused, ""
        self._processes.resume(paused)


class EndedProcess(ProcessFault):
    """A process ends, by SIGKILL or SIGTERM, and is started again."""

    def _act(self, ending: injecting.Ending, process: str) -> None:
        is_kill = self._fault.kind == "kill-process"
        end = self._processes.kill if is_kill else self._processes.terminate
        with self._effect(process, "killed and started again" if is_kill else "restarted"):
            self._down = process
            end(process, fault=self._fault.name)
            ending.over.wait(self._parameters["down_s"])
            if not ending.is_abandoned:
                self._start_again(process)


class PausedProcess(ProcessFault):
    """A process stands still for a while."""

    def _act(self, ending: injecting.Ending, process: str) -> None:
        with self._effect(process, f"stood still for {self._parameters['seconds']:g} s"):
            self._pause(process)
            ending.over.wait(self._parameters["seconds"])
            self._resume()


class TakenOverScheduler(ProcessFault):
    """A second scheduler is started and replaces the first."""

    def last(self, ending: injecting.Ending) -> None:
        self._once_at_a_time(ending, lambda: self._act(ending, self._living()))
        if self._paused:
            ending.over.wait()

    def _act(self, ending: injecting.Ending, process: str) -> None:
        overlap_s = self._parameters["overlap_s"]
        with self._effect(process, f"another scheduler took over from {process}"):
            if overlap_s:
                self._start_again(process)
                ending.over.wait(overlap_s)
            self._end(process)
            if not overlap_s and not ending.is_abandoned:
                self._start_again(process)

    def _end(self, process: str) -> None:
        match self._parameters["ends"]:
            case "kill":
                self._processes.kill(process, fault=self._fault.name)
            case "terminate":
                self._processes.terminate(process, fault=self._fault.name)
            case _:
                self._pause(process)
