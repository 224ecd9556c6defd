"""Prepares the faults of a run: routes through a carrier, and an injection for each fault."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping

import msgspec

from harness import writing
from harness.client import kubeconfig_files, transports
from harness.cluster import cluster_records
from harness.faults import injection
from harness.history import plans
from harness.model import naming
from harness.run.faulting import (
    carriers,
    client_faults,
    injecting,
    injector,
    node_faults,
    object_faults,
    process_faults,
)
from harness.run.faulting.scripted import player
from harness.scenario import script_specs

PROXY = "fault-proxy"
"""Process name of the proxy, and the subcommand that runs it."""


def prepare(stage: injecting.Stage, *, has_load: Callable[[], bool]) -> injector.Injector:
    """Lead the faulty clients through the carrier and return the injector of all faults.

    `stage` has no session yet. `has_load` returns whether the load has made its first pod. Called
    before the clients start. Raises HarnessError if the carrier does not start or answer, OSError
    if a file cannot be written.
    """
    faults = stage.plan.faults
    if stage.plan.carrier:
        through = _server if stage.plan.carrier == "server" else _proxy
        kinds = {fault.name: fault.kind for fault in faults}
        session = carriers.CarrierSession(through(stage), stage.journal, kinds=kinds)
        stage = dataclasses.replace(stage, session=session)
    made = {
        fault.name: (
            TrafficFault if fault.rule else BY_KIND.get(fault.kind, client_faults.ClientFault)
        )(fault, stage)
        for fault in faults
    }
    return injector.Injector(faults, made, stage.journal, stage.session, has_load=has_load)


# ------------------------------------------------------------------------------- carriers


def _clients(plan: plans.Plan) -> list[str]:
    of_traffic = [item for item in plan.faults if item.rule or item.kind == script_specs.JOURNAL]
    return list(dict.fromkeys(client for fault in of_traffic for client in fault.clients))


def _server(stage: injecting.Stage) -> carriers.AdminCarrier:
    """Lead the clients to the embedded API server, which applies the faults itself.

    Programs in Go need TLS.
    """
    plain, user = stage.cluster.kubeconfig.resolve(), stage.cluster.user_kubeconfig.resolve()
    foreign = stage.processes.foreign_clients()
    stage.processes.lead_through(
        {
            client: kubeconfig_files.write_for_client(
                user if naming.first_incarnation(client) in foreign else plain, client=client
            )
            for client in _clients(stage.plan)
        }
    )
    return carriers.AdminCarrier(transports.connect(plain))


def _proxy(stage: injecting.Stage) -> carriers.AdminCarrier:
    """Start the fault proxy, which ends with the run, and lead the clients through it.

    The kubeconfigs that it writes are beside the cluster's, and it removes them when it ends.
    Raises the errors of `Supervisor.wait_ready` if it does not start.
    """
    own = stage.cluster.kubeconfig.resolve()
    proxied = {client: _proxied(own, client) for client in _clients(stage.plan)}
    admin, settings = _proxied(own, "admin"), stage.directory.logs / f"{PROXY}-settings.json"
    document = {  # see `fault_proxy.settings`
        "clients": [
            {"name": client, "kubeconfig": str(own), "proxied_kubeconfig": str(path)}
            for client, path in proxied.items()
        ],
        "admin": {"kubeconfig": str(admin)},
        "notes_versions": _makes_reads_stale(stage.plan),
    }
    writing.replace(settings, msgspec.json.encode(document))
    stage.supervisor.start_part(PROXY, PROXY, settings.resolve())
    stage.supervisor.wait_ready(PROXY)
    stage.processes.lead_through(proxied)
    return carriers.AdminCarrier(transports.connect(admin))


def _proxied(kubeconfig: pathlib.Path, client: str) -> pathlib.Path:
    return kubeconfig.with_name(f"{cluster_records.PROXY_KUBECONFIG}{client}")


def _makes_reads_stale(plan: plans.Plan) -> bool:
    actions = [fault.rule["action"]["type"] for fault in plan.faults if fault.rule]
    return injection.Stale.__struct_config__.tag in actions


class TrafficFault(injecting.Injection):
    """A rule of the carrier."""

    def begin(self) -> None:
        self._stage.carried.switch_on(self._fault.rule)

    def last(self, ending: injecting.Ending) -> None:
        injecting.wait_for_end(ending, duration_s=self._fault.duration_s, is_done=self._is_used_up)

    def heal(self, ending: injecting.Ending) -> None:
        del ending
        self._stage.carried.switch_off(self._fault.name)

    def _is_used_up(self) -> bool:
        count = self._fault.rule["count"]
        return count is not None and self._journal.ended_count(self._fault.name) >= count


BY_KIND: Mapping[str, type[injecting.Injection]] = {
    "kill-process": process_faults.EndedProcess,
    "restart-process": process_faults.EndedProcess,
    "pause-process": process_faults.PausedProcess,
    "take-over": process_faults.TakenOverScheduler,
    "restart-api-server": process_faults.RestartedApiServer,
    "lose-node": node_faults.LostNode,
    "reboot-node": node_faults.RebootedNode,
    "touch-objects": object_faults.TouchedObjects,
    "reallocate-claims": object_faults.MovedClaims,
    script_specs.JOURNAL: player.ScriptPlayer,
}
"""The faults that the run injects itself; all other kinds are clients of the cluster."""
