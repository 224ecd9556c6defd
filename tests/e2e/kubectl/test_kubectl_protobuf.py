"""Protobuf between kubectl's typed clients, which are those of kube-scheduler and of the
controllers, and the embedded server.
"""

import contextlib
import pathlib
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e import kubectls

pytestmark = pytest.mark.e2e
PROTOBUF = "Content-Type: application/vnd.kubernetes.protobuf"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: typed}
spec:
  containers:
  - name: main
    image: none
    env: [{name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
    livenessProbe: {httpGet: {port: web, path: /alive}}
    resources: {limits: {cpu: 500m}}
  volumes: [{name: colours, configMap: {name: colours}}]
"""
EVENT = """
apiVersion: v1
kind: Event
metadata: {name: seen, namespace: default}
involvedObject: {kind: Pod, name: typed, namespace: default}
reason: Tested
message: in a message
type: Normal
"""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kubectls.Kubectl]:
    """The newest one, with a cluster of its own."""
    path = newest()
    cluster = kubectls.Cluster(tmp_path_factory.mktemp("home"))
    env = {**cluster.env, "KUBECONFIG": cluster.kubeconfig}
    yield kubectls.Kubectl(path, "default", env)
    assert cluster.run("down", "e2e").returncode == 0


def newest() -> pathlib.Path:
    found = {
        version: path for path in kubectls.candidates() if (version := kubectls.version_of(path))
    }
    usable = sorted(version for version in found if version >= kubectls.VERSION_MIN)
    if not usable:
        pytest.skip(kubectls.NONE_FOUND)
    return found[usable[-1]]


def test_objects_are_written_and_read(kubectl: kubectls.Kubectl) -> None:
    """`create quota` sends a message, `describe` asks for several."""
    made = kubectl.run("create", "quota", "few", "--hard=pods=3,requests.cpu=500m", "-v=9")
    assert "resourcequota/few created" in made.stdout
    assert PROTOBUF in made.stderr
    assert kubectl.json("get", "quota", "few")["spec"] == {
        "hard": {"pods": "3", "requests.cpu": "500m"}
    }
    kubectl.ok("create", "-f", "-", stdin=POD)
    shown = kubectl.run("describe", "pod", "typed", "-v=9")
    for text in (
        "http-get http://:web/alive",
        "(v1:metadata.name)",
        "500m",
        "populated by a ConfigMap",
    ):
        assert text in shown.stdout


def test_a_watch(kubectl: kubectls.Kubectl) -> None:
    watching = kubectl.argv("events", "--watch", "-v=9")
    pipe, merged = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(
        watching, stdout=pipe, stderr=merged, env=kubectl.env, text=True
    ) as process:
        assert process.stdout is not None
        with contextlib.closing(process.stdout) as lines:
            assert any("watch=true" in line for line in lines)
            kubectl.ok("create", "-f", "-", stdin=EVENT)
            assert any("Tested" in line and "in a message" in line for line in lines)
        process.terminate()
