"""Start a cluster for a block of code, or keep one up until it is taken down."""

import contextlib
import pathlib
import secrets
import shutil
from collections.abc import Iterator

from harness import processes, writing
from harness.client import apis, transports
from harness.cluster import cluster_records, interfaces, providers
from harness.cluster.fixtures import fake_objects, fake_world
from harness.cluster.lifecycle import prune
from harness.scenario import pool_specs, profiles

READY_TIMEOUT_S = 30.0
_NAMESPACE = "flake-hunt"


@contextlib.contextmanager
def held(
    profile: profiles.Profile, request: interfaces.ClusterRequest
) -> Iterator[interfaces.Cluster]:
    """Start a cluster for the `with` block.

    However the block ends, the logs are collected and everything else is removed.
    """
    providers.of(profile).require_free(request)
    entry = cluster_records.begin(profile, request)
    try:
        cluster = providers.up(profile, request)
    except BaseException:
        providers.of(profile).reap(request)
        cluster_records.forget(entry)
        raise
    try:
        yield cluster
    finally:
        _let_go(cluster, request)
        # If the line above is interrupted the record stays, and prune removes the rest.
        cluster_records.forget(entry)


def _let_go(cluster: interfaces.Cluster, request: interfaces.ClusterRequest) -> None:
    try:
        cluster.collect_logs(request.directory)
    finally:
        cluster.down()
        cluster_records.forget_proxy_kubeconfigs(request.directory)


def up(
    name: str, profile: profiles.Profile, spec: pool_specs.PoolsSpec
) -> cluster_records.ClusterRecord:
    """Start a cluster with its device pools and kubelets, and leave it running."""
    cluster_records.require_new(name)
    provider = providers.usable(profile)
    directory = cluster_records.folder() / name
    request = interfaces.ClusterRequest(name=name, directory=directory, stays=True)
    provider.require_free(request)
    entry = cluster_records.begin(profile, request)
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        return _up(entry, profile, spec)
    except BaseException:
        prune.remove(cluster_records.find(name))  # re-read: it lists the run by now
        raise


def _up(
    entry: cluster_records.ClusterRecord, profile: profiles.Profile, spec: pool_specs.PoolsSpec
) -> cluster_records.ClusterRecord:
    cluster = providers.up(profile, entry.request())
    played = _publish(cluster, entry, profile, spec)
    kubelet = processes.start_ready(
        "kubelet",
        processes.command("kubelet", "--kubeconfig", str(cluster.kubeconfig), *played),
        log=entry.path / "kubelet.log",
        ready=entry.path / "kubelet.ready",
        timeout_s=READY_TIMEOUT_S,
        with_parent=False,
    )
    own = [cluster_records.identity(kubelet.pid, "kubelet")]
    others = [cluster_records.identity(pid, profile.provider) for pid in cluster.pids]
    return cluster_records.mark_up(cluster_records.find(entry.name), own + others)


def _publish(
    cluster: interfaces.Cluster,
    entry: cluster_records.ClusterRecord,
    profile: profiles.Profile,
    spec: pool_specs.PoolsSpec,
) -> list[str]:
    """Create the device pools; return the kubelets' options.

    The kubelets act for all fake nodes, or only the run's own if others use the cluster.
    """
    on, run_id = providers.of(profile).capabilities, secrets.token_hex(4)
    cluster_records.note_run(entry.path, run_id)
    namespace, played = _NAMESPACE, list[str]()
    if not on.exclusive:
        spec, namespace = fake_objects.own(spec, run_id), f"{_NAMESPACE}-{run_id}"
        played = ["--run-id", run_id]
    api = apis.Api(transports.connect(cluster.kubeconfig))
    try:
        fake_world.publish(api, spec, namespace=namespace, run_id=run_id, on=on)
    finally:
        api.transport.close()
    return played


def collect_logs(entry: cluster_records.ClusterRecord, to: pathlib.Path) -> list[pathlib.Path]:
    """Copy all logs of a cluster that stays to this folder; return the paths of its files.

    Raises StorageError or UnwritableError if the folder cannot be written.
    """
    with writing.explained(to):
        to.mkdir(parents=True, exist_ok=True)
        for path in entry.path.glob("*.log"):
            shutil.copy2(path, to)
    providers.of(entry.load_profile()).collect_logs(entry.request(), to)
    return sorted(path for path in to.rglob("*") if path.is_file())
