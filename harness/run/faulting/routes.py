"""Leads clients of a run through a carrier of faults: the embedded API server, or the proxy."""

import dataclasses
import pathlib

import msgspec

from harness import writing
from harness.client import kubeconfig_files, transports
from harness.cluster import cluster_records
from harness.faults import injection
from harness.history import plans
from harness.model import naming
from harness.run.faulting import carriers, injecting
from harness.scenario import script_specs

PROXY = "fault-proxy"
"""Process name of the proxy, and the subcommand that runs it."""


def led(stage: injecting.Stage) -> injecting.Stage:
    """Lead the faulty clients through the carrier, if there is one; return the stage with it.

    Called before the clients start. Raises HarnessError if the carrier does not start or answer,
    OSError if a file cannot be written.
    """
    if not stage.plan.carrier:
        return stage
    through = _server if stage.plan.carrier == "server" else _proxy
    kinds = {fault.name: fault.kind for fault in stage.plan.faults}
    session = carriers.CarrierSession(through(stage), stage.journal, kinds=kinds)
    return dataclasses.replace(stage, session=session)


def _clients(plan: plans.Plan) -> list[str]:
    of_traffic = [item for item in plan.faults if item.rule or item.kind == script_specs.JOURNAL]
    return list(dict.fromkeys(client for fault in of_traffic for client in fault.clients))


def _server(stage: injecting.Stage) -> carriers.AdminCarrier:
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
    """The kubeconfigs that it writes are beside the cluster's, and go when it ends."""
    own = stage.cluster.kubeconfig.resolve()
    proxied = {client: _proxied(own, client) for client in _clients(stage.plan)}
    admin, settings = _proxied(own, "admin"), stage.directory.logs / f"{PROXY}-settings.json"
    document = {  # see `fault_proxy.settings`
        "clients": [
            {"name": client, "kubeconfig": str(own), "proxied_kubeconfig": str(path)}
            for client, path in proxied.items()
        ],
        "admin": {"kubeconfig": str(admin)},
        "notes_versions": any(
            fault.rule.get("action", {}).get("type") == injection.Stale.__struct_config__.tag
            for fault in stage.plan.faults
        ),
    }
    writing.replace(settings, msgspec.json.encode(document))
    stage.supervisor.start_part(PROXY, PROXY, settings.resolve())
    stage.supervisor.wait_ready(PROXY)
    stage.processes.lead_through(proxied)
    return carriers.AdminCarrier(transports.connect(admin))


def _proxied(kubeconfig: pathlib.Path, client: str) -> pathlib.Path:
    return kubeconfig.with_name(f"{cluster_records.PROXY_KUBECONFIG}{client}")
