"""The ways by which the faulty clients of a run reach the API server: through a carrier of faults.

Clients that no fault names keep their own connection, the recorder among them.
"""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence

import msgspec

from harness import writing
from harness.client import kubeconfig_files, transports
from harness.cluster import cluster_records, interfaces
from harness.faults import injection
from harness.history import directories, plans
from harness.run.faulting import carriers
from harness.run.supervision import supervising

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
    named = [client for fault in plan.faults if fault.rule for client in fault.clients]
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
                user if client in tls else plain, client=client
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
    supervisor.start_part(PROXY, PROXY, "--settings", settings.resolve())
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
