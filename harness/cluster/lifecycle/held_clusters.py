"""Start a cluster for a block of code, or keep one up until it is taken down."""

import contextlib
import pathlib
import secrets
import shutil
from collections.abc import Iterator, Sequence

from harness import processes, writing
from harness.client import apis
from harness.cluster import cluster_records, interfaces, providers
from harness.cluster.fake_nodes import fake_objects, fake_world
from harness.cluster.lifecycle import prune
from harness.scenario import pool_specs, profiles

READY_TIMEOUT_S, STOP_TIMEOUT_S = 30.0, 10.0
_NAMESPACE = "flake-hunt"


@contextlib.contextmanager
def held(
    profile: profiles.Profile, request: interfaces.ClusterRequest
) -> Iterator[interfaces.Cluster]:
    """Start a cluster for the `with` block.

    However the block ends, the logs are collected and everything else is removed.
    """
    providers.of(profile).require_free(request)
    processes.prepare()
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
        try:
            cluster.collect_logs(request.directory)
        finally:
            cluster.down()
            cluster_records.forget_proxy_kubeconfigs(request.directory)
        # If that is interrupted the record stays, and prune removes the rest.
        cluster_records.forget(entry)


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
        cluster = providers.up(profile, entry.request())
        _, options = _publish(cluster, entry.path, profile, spec)
        kubelet = _start_kubelet(cluster, entry.path, options, with_parent=False)
        own = [cluster_records.identity(kubelet.pid, "kubelet")]
        others = [cluster_records.identity(pid, profile.provider) for pid in cluster.pids]
        return cluster_records.mark_up(cluster_records.find(name), own + others)
    except BaseException:
        prune.remove(cluster_records.find(name))  # re-read: it lists the run by now
        raise


@contextlib.contextmanager
def held_with_pools(
    profile: profiles.Profile, request: interfaces.ClusterRequest, spec: pool_specs.PoolsSpec
) -> Iterator[tuple[interfaces.Cluster, fake_world.FakeWorld]]:
    """Start a cluster with device pools and kubelets for the `with` block.

    However the block ends, everything but the logs is removed.
    """
    with held(profile, request) as cluster:
        world, options = _publish(cluster, request.directory, profile, spec)
        try:
            kubelet = _start_kubelet(cluster, request.directory, options)
            try:
                yield cluster, world
            finally:
                kubelet.stop(timeout_s=STOP_TIMEOUT_S)
        finally:
            if not providers.of(profile).capabilities.exclusive:
                with apis.connected(cluster.kubeconfig) as api:
                    fake_world.remove(api, world)


def _start_kubelet(
    cluster: interfaces.Cluster,
    folder: pathlib.Path,
    options: Sequence[str],
    *,
    with_parent: bool = True,
) -> processes.Process:
    return processes.start_ready(
        "kubelet",
        processes.command("part", "kubelet", "--kubeconfig", str(cluster.kubeconfig), *options),
        log=folder / "kubelet.log",
        ready=folder / "kubelet.ready",
        timeout_s=READY_TIMEOUT_S,
        with_parent=with_parent,
    )


def _publish(
    cluster: interfaces.Cluster,
    folder: pathlib.Path,
    profile: profiles.Profile,
    spec: pool_specs.PoolsSpec,
) -> tuple[fake_world.FakeWorld, list[str]]:
    """Create the device pools; return them, and the options of their kubelets.

    These act for all fake nodes, or only the run's own if others use the cluster.
    """
    on, run_id = providers.of(profile).capabilities, secrets.token_hex(4)
    cluster_records.note_run(folder, run_id)
    namespace, options = _NAMESPACE, list[str]()
    if not on.exclusive:
        spec, namespace = fake_objects.own(spec, run_id), f"{_NAMESPACE}-{run_id}"
        options = processes.changed(run_id=run_id)
    with apis.connected(cluster.kubeconfig) as api:
        return fake_world.publish(api, spec, namespace=namespace, run_id=run_id, on=on), options


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
