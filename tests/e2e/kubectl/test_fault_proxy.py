"""kubectl through the fault proxy, before a cluster that the command line has started."""

import dataclasses
import os
import subprocess
from collections.abc import Iterator

import pytest

from harness import processes
from tests.e2e import kubectls
from tests.support import fault_proxies

pytestmark = pytest.mark.e2e
cluster = kubectls.cluster
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: config}}
data: {{key: {value}}}
"""


@dataclasses.dataclass(frozen=True)
class Proxied:
    """kubectl with the kubeconfig of the proxy, and the process of the proxy."""

    kubectl: kubectls.Kubectl
    process: processes.Process


@pytest.fixture(scope="module")
def proxied(
    cluster: kubectls.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxied]:
    program = kubectls.newest()
    folder = tmp_path_factory.mktemp("proxy")
    with fault_proxies.running(
        folder, cluster.kubeconfig, client="kubectl", timeout_s=kubectls.TIMEOUT_S
    ) as (kubeconfig, process):
        env = {**os.environ, "HOME": str(folder), "KUBECONFIG": str(kubeconfig)}
        yield Proxied(kubectls.Kubectl(program, "default", env), process)
    assert process.log_tail() == "(it printed nothing)"


def test_objects_are_applied_changed_and_deleted(proxied: Proxied) -> None:
    kubectl = proxied.kubectl
    applied = [
        kubectl.ok("apply", "--filename", "-", stdin=CONFIG.format(value=value))
        for value in ("a", "a", "b")
    ]
    assert applied == [
        f"configmap/config {how}\n" for how in ("created", "unchanged", "configured")
    ]
    assert kubectl.json("get", "configmap", "config")["data"] == {"key": "b"}
    assert kubectl.ok("get", "nodes").splitlines()[0].startswith("NAME")
    assert kubectl.ok("delete", "configmap", "config").startswith('configmap "config" deleted')
    assert 'configmaps "config" not found' in kubectl.fails("get", "configmap", "config")


def test_a_watch_shows_a_change(proxied: Proxied) -> None:
    kubectl = proxied.kubectl
    kubectl.ok("create", "configmap", "first")
    argv = kubectl.argv("get", "configmaps", "--watch", "--output=name")
    with subprocess.Popen(argv, env=kubectl.env, stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout is not None
            assert watching.stdout.readline() == "configmap/first\n"
            kubectl.ok("create", "configmap", "second")
            assert watching.stdout.readline() == "configmap/second\n"
        finally:
            watching.kill()
    kubectl.ok("delete", "configmap", "first", "second")


def test_exec_is_refused_with_what_to_do(proxied: Proxied) -> None:
    kubectl = proxied.kubectl
    kubectl.ok("create", "--filename", "-", stdin=kubectls.POD.format(name="p", node="x"))
    try:
        message = kubectl.fails("exec", "p", "--", "ls")
        assert "use the cluster's own kubeconfig for exec" in message
    finally:
        kubectl.run("delete", "pod", "p", "--force", "--grace-period=0")
