"""Clusters for as long as somebody needs them: for a block of code, or until they are taken down."""

import contextlib
import secrets
from collections.abc import Iterator

from harness import processes
from harness.client import apis, transports
from harness.cluster import contracts, fakes, pools, providers, reaping, registry
from harness.scenario import profiles, specs

READY_TIMEOUT_S = 30.0
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
    provider = providers.usable(profile)
    directory = registry.folder() / name
    request = contracts.Request(name=name, directory=directory, stays=True)
    provider.require_free(request)
    entry = registry.begin(profile, request)
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        return _up(entry, profile, spec)
    except BaseException:
        reaping.remove(registry.find(name))  # which knows by now what was made on it
        raise


def _up(entry: registry.Entry, profile: profiles.Profile, spec: specs.PoolsSpec) -> registry.Entry:
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
    own = [registry.identity(kubelet.pid, "kubelet")]
    others = [registry.identity(pid, profile.provider) for pid in cluster.pids]
    return registry.is_up(registry.find(entry.name), own + others)


def _publish(
    cluster: contracts.Cluster,
    entry: registry.Entry,
    profile: profiles.Profile,
    spec: specs.PoolsSpec,
) -> list[str]:
    """Make the device pools; which nodes the kubelets are to play, as their options: all fake ones, or where others have some, ours."""
    on, run_id = providers.of(profile).capabilities, secrets.token_hex(4)
    registry.note_run(entry.path, run_id)
    namespace, played = _NAMESPACE, list[str]()
    if not on.exclusive:
        spec, namespace = fakes.own(spec, run_id), f"{_NAMESPACE}-{run_id}"
        played = ["--run-id", run_id]
    api = apis.Api(transports.connect(cluster.kubeconfig))
    try:
        pools.publish(api, spec, namespace=namespace, run_id=run_id, on=on)
    finally:
        api.transport.close()
    return played
