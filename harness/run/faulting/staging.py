"""Prepares the faults of a run: routes through a carrier, and an injection for each fault."""

from collections.abc import Callable, Mapping

from harness import concurrency, seeds
from harness.client import apis, transports
from harness.cluster import interfaces, providers
from harness.history import directories, plans
from harness.run import run_processes
from harness.run.faulting import (
    carrier_sessions,
    conductor,
    fault_journal,
    injecting,
    plugin_faults,
    process_faults,
    routes,
    traffic_faults,
)
from harness.run.faulting.object_faults import claim_moving, node_losses, object_touching
from harness.run.supervision import leaders, supervising
from harness.scenario import profiles

_OF_PROCESSES: Mapping[str, type[process_faults.ProcessFault]] = {
    "kill-process": process_faults.EndedProcess,
    "restart-process": process_faults.EndedProcess,
    "pause-process": process_faults.PausedProcess,
    "take-over": process_faults.TakenOverScheduler,
}


class Stage:
    """The parts of a run that faults act on."""

    def __init__(
        self,
        plan: plans.Plan,
        directory: directories.RunDirectory,
        cluster: interfaces.Cluster,
        supervisor: supervising.Supervisor,
        processes: run_processes.RunProcesses,
    ) -> None:
        self._plan, self._directory, self._cluster = plan, directory, cluster
        self._supervisor, self._processes = supervisor, processes
        self._guards = {
            client: concurrency.lock(f"faults-of-{client}")
            for fault in plan.faults
            for client in fault.clients
        }

    def prepare(self, *, has_load: Callable[[], bool]) -> conductor.Conductor:
        """Lead the faulty clients through the carrier and return the conductor of all faults.

        `has_load` tells whether the load has made its first pod. Called before the clients start.
        Raises HarnessError if the carrier does not start or answer, OSError if a file cannot be
        written.
        """
        routed = self._routes()
        journal = fault_journal.FaultJournal(self._directory.faults, run_id=self._plan.run_id)
        session = None
        if routed is not None:
            self._processes.lead_through(routed.kubeconfigs)
            kinds = {fault.name: fault.kind for fault in self._plan.faults}
            session = carrier_sessions.CarrierSession(routed.carrier, journal, kinds=kinds)
        injections = {
            fault.name: self._injection(fault, journal, session) for fault in self._plan.faults
        }
        return conductor.Conductor(
            self._plan.faults, injections, journal, session, has_load=has_load
        )

    def _routes(self) -> routes.Routes | None:
        match self._plan.carrier:
            case "server":
                tls = self._processes.foreign_clients()
                return routes.through_server(self._plan, self._cluster, tls=tls)
            case "proxy":
                return routes.through_proxy(
                    self._plan, self._cluster, self._directory, self._supervisor
                )
            case _:
                return None

    def _injection(
        self,
        fault: plans.PlannedFault,
        journal: fault_journal.FaultJournal,
        session: carrier_sessions.CarrierSession | None,
    ) -> injecting.Injection:
        if fault.rule and session is not None:
            return traffic_faults.TrafficFault(fault, session, journal)
        if fault.kind == "touch-objects":
            return self._touching(fault, journal)
        if fault.kind == "reallocate-claims":
            return self._moving(fault, journal)
        if fault.kind == "restart-api-server":
            return process_faults.ApiServerRestart(
                fault, journal, self._cluster.restart_api_server, self._across(session)
            )
        if fault.kind == "plugin":
            return self._plugged(fault, journal)
        if fault.kind == "lose-node":
            return self._losing(fault, journal)
        guard = self._guards[fault.clients[0]]
        return _OF_PROCESSES[fault.kind](fault, journal, self._acting(fault.clients[0]), guard)

    def _acting(self, process: str) -> process_faults.Processes:
        """Return what ends, pauses and starts a process: the run, or the cluster."""
        on = providers.of(profiles.restore(self._plan.cluster_profile)).capabilities
        if process == on.claim_controller_process and isinstance(
            self._cluster, interfaces.ControlsProcesses
        ):
            return process_faults.ClusterProcess(self._cluster.process(process))
        return process_faults.RunProcesses(self._supervisor, self._processes, self._leader_pid())

    def _leader_pid(self) -> Callable[[], int | None] | None:
        subject = self._plan.settings["subject"]
        if not subject["leader_election"]:
            return None
        name = subject["schedulers"][0]["scheduler_name"]
        return leaders.Leaders(self._own_api(), namespace=self._plan.namespace, name=name).pid

    def _moving(
        self, fault: plans.PlannedFault, journal: fault_journal.FaultJournal
    ) -> injecting.Injection:
        return claim_moving.ClaimMoving(
            fault, self._own_api(), journal, namespace=self._plan.namespace
        )

    def _losing(
        self, fault: plans.PlannedFault, journal: fault_journal.FaultJournal
    ) -> injecting.Injection:
        return node_losses.LostNode(
            fault,
            journal,
            process_faults.RunProcesses(self._supervisor, self._processes),
            self._guards[fault.clients[0]],
            api=self._own_api(),
            namespace=self._plan.namespace,
            node=self._processes.lost_node,
        )

    def _plugged(
        self, fault: plans.PlannedFault, journal: fault_journal.FaultJournal
    ) -> injecting.Injection:
        return plugin_faults.PluginFault(
            fault,
            journal,
            kubeconfig=self._cluster.user_kubeconfig,
            namespace=self._plan.namespace,
            log=self._directory.logs / f"fault-{fault.name}.log",
            seed=seeds.Seeds(self._plan.seed).derive("fault", fault.name),
        )

    def _own_api(self) -> apis.Api:
        return apis.Api(transports.connect(self._cluster.kubeconfig.resolve()))

    def _touching(
        self, fault: plans.PlannedFault, journal: fault_journal.FaultJournal
    ) -> injecting.Injection:
        return object_touching.ObjectTouching(
            fault,
            self._own_api(),
            journal,
            namespace=self._plan.namespace,
            run_id=self._plan.run_id,
        )

    def _across(
        self, session: carrier_sessions.CarrierSession | None
    ) -> Callable[[Callable[[], None]], None]:
        """Return what to call around a restart: a proxy survives it, the server's faults do not."""
        if session is None or self._plan.carrier == "proxy":
            return lambda restart: restart()
        return session.across_restart
