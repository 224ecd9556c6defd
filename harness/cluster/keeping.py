"""Clusters for as long as somebody needs them: for a block of code, or until they are taken down."""

import contextlib
from collections.abc import Iterator

from harness import processes
from harness.client import apis, transports
from harness.cluster import contracts, pools, providers, reaping, registry
from harness.scenario import profiles, specs

READY_TIMEOUT_S = 30.0
_RUN_ID = "cluster"
_NAMESPACE = "flake-hunt"


@contextlib.contextmanager
def held(profile: profiles.Profile, request: contracts.Request) -> Iterator[contracts.Cluster]:
    """A cluster for the time of the block; its logs are collected and nothing is left of it, however the block ends."""
    providers.of(profile).require_free(request)
    entry = registry.begin(profile, request)
    try:
        cluster = providers.up(profile, request)
    except BaseException:
        providers.of(profile).reap(request)
        registry.forget(entry)
        raise
    try:
        yield cluster
    finally:
        _let_go(cluster, request)
        registry.forget(entry)  # not when letting go was interrupted: then prune does the rest


def _let_go(cluster: contracts.Cluster, request: contracts.Request) -> None:
    try:
        cluster.collect_logs(request.directory)
    finally:
        cluster.down()


def up(name: str, profile: profiles.Profile, spec: specs.PoolsSpec) -> registry.Entry:
    """Start a cluster with its device pools and kubelets, and leave it running."""
    registry.require_new(name)
    provider = providers.of(profile)
    provider.check()
    directory = registry.folder() / name
    request = contracts.Request(name=name, directory=directory, stays=True)
    provider.require_free(request)
    entry = registry.begin(profile, request)
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        return _up(entry, profile, spec)
    except BaseException:
        reaping.remove(entry)
        raise


def _up(entry: registry.Entry, profile: profiles.Profile, spec: specs.PoolsSpec) -> registry.Entry:
    cluster = providers.up(profile, entry.request())
    registry.note_run(entry.path, _RUN_ID)
    api = apis.Api(transports.connect(cluster.kubeconfig))
    on = providers.of(profile).capabilities
    pools.publish(api, spec, namespace=_NAMESPACE, run_id=_RUN_ID, on=on)
    api.transport.close()
    kubelet = processes.start_ready(
        "kubelet",
        processes.command("kubelet", "--kubeconfig", str(cluster.kubeconfig)),
        log=entry.path / "kubelet.log",
        ready=entry.path / "kubelet.ready",
        timeout_s=READY_TIMEOUT_S,
        with_parent=False,
    )
    own = [registry.identity(kubelet.pid, "kubelet")]
    others = [registry.identity(pid, profile.provider) for pid in cluster.pids]
    return registry.is_up(registry.find(entry.name), own + others)
