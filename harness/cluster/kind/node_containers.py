"""The containers of kind clusters in an engine that others share: names, removal, restarts.

kube-apiserver is a static pod: the kubelet runs it for as long as its manifest is in the kubelet's
folder. The manifest is moved away first, so that the API server stays away for as long as was asked
for and the kubelet does not back off after several kills. etcd keeps running.
"""

import pathlib

from harness import clocks, errors
from harness.client import transports
from harness.cluster import interfaces
from harness.cluster.kind import docker_engine, verification

NAME_MAX = 50
"""kind appends a suffix, and a hostname has at most 64 characters."""
SETTLE_INTERVAL_S = 0.25


def cluster_name(name: str) -> str:
    """Return the name with the harness's prefix, `fh-<run>-<worker>`.

    Raises UsageError for a name that kind accepts but that is too long for a hostname.
    """
    prefixed = docker_engine.NAME_PREFIX + name.removeprefix("flake-hunt-").removeprefix(
        docker_engine.NAME_PREFIX
    )
    if len(prefixed) > NAME_MAX:
        raise errors.UsageError(
            f"expected a kind cluster's name of at most {NAME_MAX} characters, got {prefixed!r}"
        )
    return prefixed


def require_free(engine: docker_engine.Engine, name: str) -> None:
    """Raise UsageError if containers of this name exist."""
    taken = [container.name for container in engine.nodes(name)]
    if taken:
        raise errors.UsageError(
            f"expected no kind cluster {name!r}, but it has containers ({', '.join(taken)}): "
            f"`flake-hunt cluster prune`, or `kind delete cluster --name {name}`"
        )


def remove(engine: docker_engine.Engine, name: str, *, settle_s: float = 0.0) -> bool:
    """Remove a cluster's containers and their volumes; return whether there were any.

    `settle_s`: how long to look again, because the engine may still create containers for an
    interrupted command.
    """
    removed = _remove_now(engine, name)
    deadline_ns = clocks.monotonic_ns() + int(settle_s * 1e9)
    while clocks.monotonic_ns() < deadline_ns:
        clocks.sleep(SETTLE_INTERVAL_S)
        removed = _remove_now(engine, name) or removed
    return removed


def _remove_now(engine: docker_engine.Engine, name: str) -> bool:
    containers = engine.nodes(name)
    for container in containers:
        volumes = engine.volumes_of(container)
        engine.remove(container)
        for volume in volumes:  # anonymous ones stay if an earlier removal was interrupted
            engine.remove_volume(volume)
    return bool(containers)


MANIFEST = f"{verification.MANIFESTS}/kube-apiserver.yaml"
PARKED = "/etc/kubernetes/kube-apiserver.yaml.flake-hunt"
"""Where the manifest is while the API server is away; the kubelet does not look there."""
STOP_TIMEOUT_S = 15
"""Seconds between SIGTERM and SIGKILL of an orderly end."""
READY_TIMEOUT_S = 120.0
_READY_INTERVAL_S = 0.2


def restart(
    engine: docker_engine.Engine,
    node: str,
    kubeconfig: pathlib.Path,
    *,
    kill: bool,
    down_s: float,
) -> interfaces.End:
    """End the API server of a node (`kill`: by SIGKILL) and have it started after `down_s` seconds.

    Returns, when it is ready, when it ended. Raises ClusterError if it is not ready in time.
    """
    timeout_s = 0 if kill else STOP_TIMEOUT_S
    alive_ns = clocks.monotonic_ns()  # the kubelet may end it as soon as its manifest is gone
    engine.execute(node, ["mv", MANIFEST, PARKED])
    try:
        engine.execute(node, ["sh", "-c", _stop_command(timeout_s)])
        dead_ns = clocks.monotonic_ns()
        clocks.sleep(down_s)
    finally:
        engine.execute(node, ["mv", PARKED, MANIFEST])
    try:
        clocks.wait_until(
            lambda: _is_ready(kubeconfig),
            timeout_s=READY_TIMEOUT_S,
            why=f"the API server of {node} to be ready again",
            interval_s=_READY_INTERVAL_S,
        )
    except errors.WaitTimeoutError as error:
        raise errors.ClusterError(
            f"expected the API server to start again on its data ({error}): see the kubelet's "
            f"journal in the container {node}"
        ) from error
    return interfaces.End(alive_ns, dead_ns)


def _stop_command(timeout_s: int) -> str:
    """Return the shell command that stops the API server's containers; 0 s is SIGKILL at once."""
    found = "crictl ps --quiet --name '^kube-apiserver$'"
    return f"crictl stop --timeout {timeout_s} $({found})"


def _is_ready(kubeconfig: pathlib.Path) -> bool:
    transport = transports.connect(kubeconfig)
    try:
        request = transports.Request(method="GET", path="/readyz", timeout_s=5.0)
        return transport.send(request).status == 200
    except transports.TransportError:
        return False
    finally:
        transport.close()
