"""Verification of a kind cluster's settings, because kind silently drops patches that do not match.

The evidence is on the node: the static pods that kubeadm wrote, the audit log, and the API server's
version.
"""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

import yaml

from harness import clocks, errors
from harness.client import transports
from harness.cluster.kind import docker_engine, kind_config
from harness.scenario import profiles

MANIFESTS = "/etc/kubernetes/manifests"
READY_TIMEOUT_S = 60.0


def verify(
    engine: docker_engine.Engine,
    *,
    node: str,
    kubeconfig: pathlib.Path,
    profile: profiles.KindProfile,
    choices: kind_config.Choices,
) -> None:
    """Raise ClusterError, listing every setting that differs from the requested one."""
    wrong = [
        *_flags(engine, node, "kube-apiserver", kind_config.server_flags(profile, choices)),
        *_flags(
            engine,
            node,
            "kube-controller-manager",
            kind_config.controller_manager_flags(profile),
        ),
        *_kubelet(engine, node, kind_config.kubelet_settings(profile, choices)),
        *_server(kubeconfig, profile),
    ]
    if choices.audit_policy is not None and not wrong:
        wrong = _audit_log(engine, node)
    if wrong:
        raise errors.ClusterError(
            "the kind cluster has other settings than requested (a kubeadm patch that does not match is "
            f"dropped silently; is kind v{profile.kind_min} or newer?):\n  " + "\n  ".join(wrong)
        )


def _flags(
    engine: docker_engine.Engine, node: str, component: str, expected: Mapping[str, str]
) -> list[str]:
    manifest = engine.read(node, f"{MANIFESTS}/{component}.yaml")
    if manifest is None:
        return [f"expected {MANIFESTS}/{component}.yaml in {node}, but it does not exist"]
    actual = flags_of(manifest)
    return [
        f"{component}: expected --{name}={value}, got {_shown(name, actual)}"
        for name, value in expected.items()
        if actual.get(name) != value
    ]


def flags_of(manifest: bytes) -> dict[str, str]:
    """Return the flags on the command line of a static pod's first container."""
    pod: Any = yaml.safe_load(manifest)
    container = pod["spec"]["containers"][0]
    words = [*(container.get("command") or []), *(container.get("args") or [])]
    pairs = (word.removeprefix("--").partition("=") for word in words if word.startswith("--"))
    return {name: value for name, _, value in pairs}


def _kubelet(engine: docker_engine.Engine, node: str, expected: Mapping[str, Any]) -> list[str]:
    if not expected:
        return []
    file = engine.read(node, kind_config.KUBELET_CONFIG_FILE)
    actual: Mapping[str, Any] = yaml.safe_load(file or b"") or {}
    return [
        f"kubelet: expected {name}: {json.dumps(value)} in {kind_config.KUBELET_CONFIG_FILE}, got {json.dumps(actual.get(name))}"
        for name, value in expected.items()
        if actual.get(name) != value
    ]


def _shown(name: str, actual: Mapping[str, str]) -> str:
    return f"--{name}={actual[name]}" if name in actual else "no such flag"


def _server(kubeconfig: pathlib.Path, profile: profiles.KindProfile) -> list[str]:
    transport = transports.connect(kubeconfig)
    try:  # after its own timeout kind only prints a warning, with exit code 0
        clocks.wait_until(
            lambda: _is_ready(transport),
            timeout_s=READY_TIMEOUT_S,
            why=f"the API server of {kubeconfig} to be ready",
            interval_s=0.5,
        )
        answer = transport.send(transports.Request(method="GET", path="/version"))
    except (errors.WaitTimeoutError, transports.TransportError) as error:
        return [str(error)]
    finally:
        transport.close()
    version = str(json.loads(answer.body).get("gitVersion"))
    if version.partition("+")[0] != profile.kubernetes:  # the plus separates build metadata
        return [f"expected Kubernetes {profile.kubernetes}, the API server reports {version}"]
    return []


def _is_ready(transport: transports.Transport) -> bool:
    try:
        return transport.send(transports.Request(method="GET", path="/readyz")).status == 200
    except transports.TransportError:
        return False


def _audit_log(engine: docker_engine.Engine, node: str) -> list[str]:
    """Return a problem if the audit log is empty: a node that is ready runs pods."""
    if engine.read(node, kind_config.AUDIT_FILE):
        return []
    return [f"expected an audit log in {node} at {kind_config.AUDIT_FILE}, but there is none"]
