"""The containers of kind clusters in an engine that others share.

kind silently drops patches that do not match, so the settings of a cluster are verified by what is
on its node: the static pods that kubeadm wrote, the audit log, and the API server's version.

kube-apiserver is a static pod: the kubelet runs it for as long as its manifest is in the kubelet's
folder. The manifest is moved away first, so that the API server stays away for as long as was asked
for and the kubelet does not back off after several kills. etcd keeps running.
"""

import contextlib
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from harness import clocks, errors
from harness.client import transports
from harness.cluster import components
from harness.cluster.kind import docker_engine, kind_config
from harness.scenario import profiles

NAME_MAX = 50
"""kind appends a suffix, and a hostname has at most 64 characters."""
SETTLE_INTERVAL_S = 0.25
MANAGER = "kube-controller-manager"


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
    taken = [container.name for container in engine.nodes(name)]
    if taken:
        raise errors.UsageError(
            f"expected no kind cluster {name!r}, but it has containers ({', '.join(taken)}): "
            f"`flake-hunt cluster prune`, or `kind delete cluster --name {name}`"
        )


def remove(engine: docker_engine.Engine, name: str, *, settle_s: float = 0.0) -> None:
    """Remove a cluster's containers and their volumes.

    `settle_s`: how long to look again, because the engine may still create containers for an
    interrupted command.
    """
    deadline_ns = clocks.monotonic_ns() + int(settle_s * 1e9)
    while True:
        for container in engine.nodes(name):
            engine.remove(container)
        if clocks.monotonic_ns() >= deadline_ns:
            return
        clocks.sleep(SETTLE_INTERVAL_S)


# ---------------------------------------------------------------------- verification

MANIFESTS = "/etc/kubernetes/manifests"
VERIFY_TIMEOUT_S = 60.0


def verify(
    engine: docker_engine.Engine,
    node: str,
    kubeconfig: pathlib.Path,
    profile: profiles.KindProfile,
    choices: kind_config.Choices,
) -> None:
    """Raise ClusterError, listing every setting that differs from the requested one."""
    server = kind_config.server_flags(profile, choices)
    wrong = [
        *_flags(engine, node, "kube-apiserver", server),
        *_flags(engine, node, MANAGER, kind_config.controller_manager_flags(profile)),
        *_kubelet(engine, node, kind_config.kubelet_settings(profile, choices)),
        *_version(kubeconfig, profile),
    ]
    if choices.audit_policy and not wrong and not engine.read(node, kind_config.AUDIT_FILE):
        # a node that is ready runs pods
        wrong = [f"expected an audit log in {node} at {kind_config.AUDIT_FILE}, but there is none"]
    if wrong:
        raise errors.ClusterError(
            "the kind cluster has other settings than requested (a kubeadm patch that does not match is "
            f"dropped silently; is kind v{profile.kind_min} or newer?):\n  " + "\n  ".join(wrong)
        )


def _flags(
    engine: docker_engine.Engine, node: str, component: str, expected: Mapping[str, str]
) -> Iterator[str]:
    """Yield what is wrong with the command line of a static pod's first container."""
    pod = yaml.safe_load(engine.read(node, f"{MANIFESTS}/{component}.yaml") or b"") or {}
    containers = pod.get("spec", {}).get("containers") or [{}]
    words = [*(containers[0].get("command") or ()), *(containers[0].get("args") or ())]
    for name, value in expected.items():
        wanted = f"--{name}={value}"
        if wanted not in words:
            found = next((word for word in words if word.startswith(f"--{name}=")), "no such flag")
            yield f"{component}: expected {wanted}, got {found}"


def _kubelet(engine: docker_engine.Engine, node: str, expected: Mapping[str, Any]) -> Iterator[str]:
    file = engine.read(node, kind_config.KUBELET_CONFIG_FILE) if expected else b""
    actual = yaml.safe_load(file or b"") or {}
    for name, value in expected.items():
        if actual.get(name) != value:
            wanted, found = json.dumps(value), json.dumps(actual.get(name))
            where = kind_config.KUBELET_CONFIG_FILE
            yield f"kubelet: expected {name}: {wanted} in {where}, got {found}"


def _version(kubeconfig: pathlib.Path, profile: profiles.KindProfile) -> Iterator[str]:
    """Wait until the API server is ready: kind gives up with a warning and exit code 0."""
    try:
        _wait_until_ready(kubeconfig, timeout_s=VERIFY_TIMEOUT_S)
        with contextlib.closing(transports.connect(kubeconfig)) as transport:
            answer = transport.send(transports.Request(method="GET", path="/version"))
    except (errors.WaitTimeoutError, transports.TransportError) as error:
        yield str(error)
        return
    version = str(json.loads(answer.body).get("gitVersion"))
    if version.partition("+")[0] != profile.kubernetes:  # the plus separates build metadata
        yield f"expected Kubernetes {profile.kubernetes}, the API server reports {version}"


def _wait_until_ready(kubeconfig: pathlib.Path, *, timeout_s: float) -> None:
    clocks.wait_until(
        lambda: transports.answers(transports.connect(kubeconfig), "/readyz"),
        timeout_s=timeout_s,
        why=f"the API server of {kubeconfig} to be ready",
        interval_s=_READY_INTERVAL_S,
    )


# -------------------------------------------------------------------------- restarts

MANIFEST = f"{MANIFESTS}/kube-apiserver.yaml"
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
) -> components.End:
    """End the API server of a node (`kill`: by SIGKILL) and have it started after `down_s` seconds.

    Returns, when it is ready, when it ended. Raises ClusterError if it is not ready in time.
    """
    timeout_s = 0 if kill else STOP_TIMEOUT_S
    found = "crictl ps --quiet --name '^kube-apiserver$'"
    alive_ns = clocks.monotonic_ns()  # the kubelet may end it as soon as its manifest is gone
    engine.execute(node, ["mv", MANIFEST, PARKED])
    try:
        engine.execute(node, ["sh", "-c", f"crictl stop --timeout {timeout_s} $({found})"])
        dead_ns = clocks.monotonic_ns()
        clocks.sleep(down_s)
    finally:
        engine.execute(node, ["mv", PARKED, MANIFEST])
    try:
        _wait_until_ready(kubeconfig, timeout_s=READY_TIMEOUT_S)
    except errors.WaitTimeoutError as error:
        raise errors.ClusterError(
            f"expected the API server to start again on its data ({error}): see the kubelet's "
            f"journal in the container {node}"
        ) from error
    return components.End(alive_ns, dead_ns)
