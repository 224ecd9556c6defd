"""Injects faults of processes and of the API server: ends, pauses, restarts, successors."""

import contextlib
from collections.abc import Callable, Iterator

from harness import errors
from harness.client import apis
from harness.cluster import providers
from harness.model import naming
from harness.run import supervising
from harness.run.faulting import injecting
from harness.scenario import profiles

API_SERVER = "api-server"


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


def living(supervisor: supervising.Supervisor, name: str, leader: int | None) -> str | None:
    """Return the newest incarnation that runs; of schedulers, that with the pid of the leader."""
    if leader is not None and name == naming.scheduler(0):
        return supervisor.with_pid(leader) or supervisor.living(name)
    return supervisor.living(name)


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
        self.name, self._it, plan = it.fault.clients[0], it, it.stage.plan
        self._run = it.stage.supervisor
        on = providers.of(profiles.restore(plan.cluster_profile)).capabilities
        is_theirs = self.name == on.claim_controller_process
        self._theirs = it.stage.cluster.controlled(self.name) if is_theirs else None
        """A process of the cluster, such as kube-controller-manager; None: it is one of the run."""
        is_elected = plan.settings["subject"]["leader_election"] and not is_theirs
        self._api = it.connected() if is_elected else None
        """For the Lease that names the leader; None: there is none."""

    def repeat(self, act: Callable[[str], None]) -> None:
        self._it.repeat(self.name, lambda: act(self._living()))

    def _living(self) -> str:
        if self._theirs is not None:
            return self.name  # an end that no fault has made ends the run
        found = self.living(self.name)
        if found is None:
            raise errors.FaultError(f"expected {self.name} to run, but it has ended")
        return found

    def living(self, name: str) -> str | None:
        plan, leader = self._it.stage.plan, None
        if self._api is not None:
            lease = plan.settings["subject"]["schedulers"][0]["scheduler_name"]
            leader = leader_pid(self._api, namespace=plan.namespace, name=lease)
        return living(self._run, name, leader)

    def end(self, process: str, *, kill: bool) -> None:
        if self._theirs is not None:
            self._theirs.end(kill=kill)
        else:
            end = self._run.kill if kill else self._run.terminate
            end(process, fault=self._it.fault.name)

    def start_again(self, process: str) -> None:
        if self._it.ending.is_abandoned:
            return
        if self._theirs is not None:
            self._theirs.start_again()
        else:
            self._it.stage.processes.start_again(naming.first_incarnation(process))

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
        if self._theirs is not None:
            self._theirs.pause()
        else:
            self._run.pause(process, fault=self._it.fault.name)
        try:
            yield
        finally:
            if self._theirs is not None:
                self._theirs.resume()
            else:
                self._run.resume(process)


def end(it: injecting.Injection) -> None:
    on, is_kill = ProcessFault(it), it.fault.kind == "kill-process"

    def act(process: str) -> None:
        detail = "killed and started again" if is_kill else "restarted"
        with it.effect(process, detail), on.down(process):
            on.end(process, kill=is_kill)

    on.repeat(act)


def pause(it: injecting.Injection) -> None:
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
                on.end(process, kill=ends == "kill")
            if not overlap_s:
                on.start_again(process)

    on.repeat(act)
    if ends == "pause":
        it.ending.over.wait()
