"""Prepares the faults of a run: routes through a carrier, and an injection for each fault."""

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence

import msgspec

from harness import concurrency, errors, seeds, writing
from harness.client import apis, kubeconfig_files, transports
from harness.cluster import cluster_records, interfaces, providers
from harness.faults import injection
from harness.history import directories, journal_writer, plans
from harness.model import naming
from harness.run import run_plan, run_processes, subjects, supervising
from harness.run.faulting import (
    carriers,
    claim_moving,
    client_faults,
    fault_journal,
    injecting,
    injector,
    node_losses,
    node_reboots,
    object_touching,
    process_faults,
)
from harness.run.faulting.scripted import holding, player, script_objects, thread_holding
from harness.scenario import profiles, script_specs

PROXY = "fault-proxy"
"""Process name of the proxy, and the subcommand that runs it."""
_ADMIN = "admin"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """The kubeconfigs of the faulty clients, and the carrier behind them."""

    kubeconfigs: Mapping[str, pathlib.Path]
    """Keyed by the name of the client."""
    carrier: carriers.Carrier


def clients(plan: plans.Plan) -> list[str]:
    """Return the clients whose traffic has to pass the carrier."""
    of_traffic = [item for item in plan.faults if item.rule or item.kind == script_specs.JOURNAL]
    named = [client for fault in of_traffic for client in fault.clients]
    return list(dict.fromkeys(named))


def through_server(plan: plans.Plan, cluster: interfaces.Cluster, *, tls: Sequence[str]) -> Routes:
    """Return routes to the embedded API server, which applies the faults itself.

    `tls`: the clients that need TLS, as Go programs do. Raises OSError if a kubeconfig cannot be
    written.
    """
    plain, user = cluster.kubeconfig.resolve(), cluster.user_kubeconfig.resolve()
    return Routes(
        kubeconfigs={
            client: kubeconfig_files.write_for_client(
                user if naming.first_incarnation(client) in tls else plain, client=client
            )
            for client in clients(plan)
        },
        carrier=carriers.AdminCarrier(transports.connect(plain)),
    )


def through_proxy(
    plan: plans.Plan,
    cluster: interfaces.Cluster,
    directory: directories.RunDirectory,
    supervisor: supervising.Supervisor,
) -> Routes:
    """Start the fault proxy, which ends with the run, and return routes through it.

    The kubeconfigs that it writes are beside the cluster's, and it removes them when it ends.
    Raises the errors of `Supervisor.wait_ready` if it does not start.
    """
    folder = cluster.kubeconfig.resolve().parent
    proxied = {client: folder / _kubeconfig_name(client) for client in clients(plan)}
    admin = folder / _kubeconfig_name(_ADMIN)
    settings = directory.logs / f"{PROXY}-settings.json"
    document = _settings(cluster, proxied, admin, notes_versions=_makes_reads_stale(plan))
    writing.replace(settings, document)
    supervisor.start_part(PROXY, PROXY, settings.resolve())
    supervisor.wait_ready(PROXY)
    return Routes(kubeconfigs=proxied, carrier=carriers.AdminCarrier(transports.connect(admin)))


def _kubeconfig_name(client: str) -> str:
    return f"{cluster_records.PROXY_KUBECONFIG}{client}"


def _settings(
    cluster: interfaces.Cluster,
    proxied: Mapping[str, pathlib.Path],
    admin: pathlib.Path,
    *,
    notes_versions: bool,
) -> bytes:
    """Return the proxy's settings file (see `fault_proxy.settings`)."""
    own = str(cluster.kubeconfig.resolve())
    named = [
        {"name": client, "kubeconfig": own, "proxied_kubeconfig": str(path)}
        for client, path in proxied.items()
    ]
    return msgspec.json.encode(
        {
            "clients": named,
            "admin": {"kubeconfig": str(admin)},
            "notes_versions": notes_versions,
        }
    )


def _makes_reads_stale(plan: plans.Plan) -> bool:
    actions = [fault.rule["action"]["type"] for fault in plan.faults if fault.rule]
    return injection.Stale.__struct_config__.tag in actions


def prepare(
    plan: plans.Plan,
    directory: directories.RunDirectory,
    cluster: interfaces.Cluster,
    supervisor: supervising.Supervisor,
    processes: run_processes.RunProcesses,
    *,
    has_load: Callable[[], bool],
) -> injector.Injector:
    """Lead the faulty clients through the carrier and return the injector of all faults.

    `has_load` returns whether the load has made its first pod. Called before the clients start.
    Raises HarnessError if the carrier does not start or answer, OSError if a file cannot be
    written.
    """
    journal = fault_journal.FaultJournal(directory.faults, run_id=plan.run_id)
    session = None
    if plan.carrier:
        if plan.carrier == "server":
            routed = through_server(plan, cluster, tls=processes.foreign_clients())
        else:
            routed = through_proxy(plan, cluster, directory, supervisor)
        processes.lead_through(routed.kubeconfigs)
        kinds = {fault.name: fault.kind for fault in plan.faults}
        session = carriers.CarrierSession(routed.carrier, journal, kinds=kinds)
    made = _Injections(plan, directory, cluster, supervisor, processes, journal, session)
    found = {fault.name: made.of(fault) for fault in plan.faults}
    return injector.Injector(plan.faults, found, journal, session, has_load=has_load)


class _Injections:
    """Makes the injections, from the parts of a run that faults act on."""

    def __init__(
        self,
        plan: plans.Plan,
        directory: directories.RunDirectory,
        cluster: interfaces.Cluster,
        supervisor: supervising.Supervisor,
        processes: run_processes.RunProcesses,
        journal: fault_journal.FaultJournal,
        session: carriers.CarrierSession | None,
    ) -> None:
        self._plan, self._directory, self._cluster = plan, directory, cluster
        self._supervisor, self._processes = supervisor, processes
        self._journal, self._session = journal, session
        self._guards = {
            client: concurrency.lock(f"faults-of-{client}")
            for fault in plan.faults
            for client in fault.clients
        }

    def of(self, fault: plans.PlannedFault) -> injecting.Injection:
        """Return the injection of a fault; kinds that need nothing of the run are clients."""
        if fault.rule and self._session is not None:
            return carriers.TrafficFault(fault, self._session, self._journal)
        return BY_KIND.get(fault.kind, _Injections.client)(self, fault)

    def client(self, fault: plans.PlannedFault) -> injecting.Injection:
        return client_faults.ClientFault(
            fault,
            self._journal,
            kubeconfig=self._cluster.user_kubeconfig,
            namespace=self._plan.namespace,
            log=self._directory.logs / f"fault-{fault.name}.log",
            seed=seeds.Seeds(self._plan.seed).derive("fault", fault.name),
        )

    def touching(self, fault: plans.PlannedFault) -> injecting.Injection:
        return object_touching.ObjectTouching(
            fault,
            self._own_api(),
            self._journal,
            namespace=self._plan.namespace,
            run_id=self._plan.run_id,
        )

    def moving(self, fault: plans.PlannedFault) -> injecting.Injection:
        return claim_moving.ClaimMoving(
            fault, self._own_api(), self._journal, namespace=self._plan.namespace
        )

    def restarting(self, fault: plans.PlannedFault) -> injecting.Injection:
        """The API server starts again; a proxy survives that, the server's own rules do not."""
        across: Callable[[Callable[[], None]], None] = lambda restart: restart()  # noqa: E731
        if self._session is not None and self._plan.carrier == "server":
            across = self._session.across_restart
        restart = self._cluster.restart_api_server
        guard = self._guards.setdefault(process_faults.API_SERVER, concurrency.lock("restarts"))
        return process_faults.ApiServerRestart(fault, self._journal, guard, restart, across)

    def rebooting(self, fault: plans.PlannedFault) -> injecting.Injection:
        kubelet = fault.clients[0]
        return node_reboots.RebootedNode(
            fault,
            self._journal,
            process_faults.RunProcesses(self._supervisor, self._processes),
            self._guards[kubelet],
            node=self._processes.lost_node,
            state=self._directory.kubelet_state(kubelet),
            boot_ids=seeds.Seeds(self._plan.seed).stream("boots", fault.name),
            drivers=self._processes.drivers_of_lost_node,
            cdi=self._processes.cdi_of_lost_node,
        )

    def losing(self, fault: plans.PlannedFault) -> injecting.Injection:
        return node_losses.LostNode(
            fault,
            self._journal,
            process_faults.RunProcesses(self._supervisor, self._processes),
            self._guards[fault.clients[0]],
            api=self._own_api(),
            namespace=self._plan.namespace,
            node=self._processes.lost_node,
        )

    def scripted(self, fault: plans.PlannedFault) -> injecting.Injection:
        """A script is played, whose own API calls and steps are journaled."""
        plan, scenario, session = self._plan, run_plan.scenario_of(self._plan), self._session
        if session is None or not isinstance(scenario.traffic, script_specs.ScriptTraffic):
            raise errors.FaultError(f"expected steps, and a carrier that holds them: {fault.name}")
        journal = functools.partial(
            journal_writer.Writer, process=script_specs.JOURNAL, run_id=plan.run_id
        )
        is_searched = bool(scenario.traffic.searched)
        objects = script_objects.ScriptObjects(
            transports.connect(self._cluster.kubeconfig.resolve()),
            journal(self._directory.operations(script_specs.JOURNAL)),
            scenario,
            namespace=plan.namespace,
            run_id=plan.run_id,
        )
        return player.ScriptPlayer(
            scenario.traffic,
            holding.Holds(session, namespace=plan.namespace),
            thread_holding.ThreadHolds(
                self._directory, with_steps=subjects.python_parts(scenario.subject)
            ),
            objects,
            self._supervisor,
            self._journal,
            journal(self._directory.script),
            start_next=self._processes.start_next,
            orders=journal(self._directory.orders) if is_searched else None,
            seed=plan.seed,
            subject=[
                *subjects.owned_schedulers(scenario.subject),
                *subjects.owned_controllers(scenario.subject),
            ],
        )

    def ending(self, fault: plans.PlannedFault) -> injecting.Injection:
        """A process ends, stands still, or is replaced."""
        process = fault.clients[0]
        kind = process_faults.BY_KIND[fault.kind]
        return kind(fault, self._journal, self._acting(process), self._guards[process])

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
        return process_faults.Leaders(
            self._own_api(), namespace=self._plan.namespace, name=name
        ).pid

    def _own_api(self) -> apis.Api:
        return apis.Api(transports.connect(self._cluster.kubeconfig.resolve()))


BY_KIND: Mapping[str, Callable[[_Injections, plans.PlannedFault], injecting.Injection]] = {
    "touch-objects": _Injections.touching,
    "reallocate-claims": _Injections.moving,
    "restart-api-server": _Injections.restarting,
    "lose-node": _Injections.losing,
    "reboot-node": _Injections.rebooting,
    script_specs.JOURNAL: _Injections.scripted,
    **dict.fromkeys(process_faults.BY_KIND, _Injections.ending),
}
"""Kinds that need parts of the run, which a client of the cluster does not have."""
