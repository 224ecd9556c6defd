"""kubectl as people use it, in several versions, against a cluster that the command line has
started.

Every `kubectl` and `kubectl.1.NN` on PATH and in the folders of the environment variable
KUBECTL_DIRS counts; of those the oldest, the newest and one between are used. Versions before 1.27
do not count: they are untested. The script of commands that every version goes through is in
test_kubectl_script.py.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from harness import processes

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("kubectl")]
TIMEOUT_S = 60
VERSION_MIN = (1, 27)
NONE_FOUND = "no kubectl of 1.27 or newer on PATH or in the folders of KUBECTL_DIRS"
_NAME = re.compile(r"kubectl(\.1\.\d+)?")
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: {name}
  labels: {{app: {name}}}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {{deviceClassName: flake-hunt}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels: {{app: {name}}}
spec:
  nodeName: {node}
  containers:
  - name: main
    image: none
"""
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: config}}
data: {{key: {value}}}
"""


def candidates() -> list[pathlib.Path]:
    folders = [os.environ.get(name, "") for name in ("PATH", "KUBECTL_DIRS")]
    paths = [
        path
        for folder in os.pathsep.join(folders).split(os.pathsep)
        if folder and pathlib.Path(folder).is_dir()
        for path in sorted(pathlib.Path(folder).glob("kubectl*"))
    ]
    return [path for path in paths if _NAME.fullmatch(path.name) and os.access(path, os.X_OK)]


def version_of(path: pathlib.Path) -> tuple[int, int] | None:
    """(1, 33); None for what does not answer."""
    try:
        ended = subprocess.run(
            [path, "version", "--client", "--output=json"],
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        found = json.loads(ended.stdout)["clientVersion"]
        return int(found["major"]), int(found["minor"].rstrip("+"))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None


@pytest.fixture(scope="module")
def kubectls() -> dict[str, pathlib.Path]:
    """The oldest, the newest, and one between."""
    by_version = {version_of(path): path for path in reversed(candidates())}
    versions = sorted(version for version in by_version if version and version >= VERSION_MIN)
    found = [by_version[version] for version in versions]
    if not found:
        pytest.skip(NONE_FOUND)
    chosen = {"oldest": found[0]}
    if len(found) > 1:
        chosen["newest"] = found[-1]
    if len(found) > 2:
        chosen["between"] = found[len(found) // 2]
    return chosen


class Cluster:
    """A cluster that was started with `flake-hunt cluster up`."""

    def __init__(self, home: pathlib.Path) -> None:
        self.home = home
        self.env = {**os.environ, "XDG_STATE_HOME": str(home), "HOME": str(home)}
        up = self.run("up", "--name", "e2e", "--nodes", "2", "--devices-per-node", "2")
        assert up.returncode == 0, up.stderr
        self.said = up.stdout
        self.kubeconfig = self.run("kubeconfig", "e2e").stdout.strip()

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """`flake-hunt cluster …`"""
        return subprocess.run(
            processes.command("cluster", *arguments),
            capture_output=True,
            text=True,
            env=self.env,
            timeout=TIMEOUT_S,
            check=False,
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("home"))
    yield made
    down = made.run("down", "e2e")
    assert (down.returncode, down.stdout) == (0, "Cluster 'e2e' is gone.\n")


@dataclasses.dataclass(frozen=True)
class Kubectl:
    """One kubectl in a namespace of its own."""

    path: pathlib.Path
    namespace: str
    env: dict[str, str]

    def argv(self, *arguments: str) -> list[str]:
        return [str(self.path), "--namespace", self.namespace, *arguments]

    def run(self, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.argv(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            env=self.env,
            timeout=TIMEOUT_S,
            check=False,
        )

    def ok(self, *arguments: str, stdin: str = "") -> str:
        """Return its output; fail unless it succeeded without a message on stderr."""
        ended = self.run(*arguments, stdin=stdin)
        assert (ended.returncode, ended.stderr) == (0, ""), ended
        return ended.stdout

    def fails(self, *arguments: str, stdin: str = "") -> str:
        """Return its error message; fail unless its exit code is 1."""
        ended = self.run(*arguments, stdin=stdin)
        assert ended.returncode == 1, ended
        return ended.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--output=json"))


@pytest.fixture(scope="module", params=["oldest", "between", "newest"])
def kubectl(
    request: pytest.FixtureRequest, kubectls: dict[str, pathlib.Path], cluster: Cluster
) -> Kubectl:
    if request.param not in kubectls:
        pytest.skip(f"only {len(kubectls)} versions of kubectl were found")
    env = {**cluster.env, "KUBECONFIG": cluster.kubeconfig}
    made = Kubectl(kubectls[request.param], request.param, env)
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {request.param}\n"
    said = made.ok("create", "-f", "-", stdin=namespace)
    assert said == f"namespace/{request.param} created\n"
    return made


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_what_the_cluster_command_says(cluster: Cluster) -> None:
    assert "Cluster 'e2e' is up: 2 nodes with 2 devices each." in cluster.said
    assert f"export KUBECONFIG={cluster.kubeconfig}" in cluster.said
    headings, row = rows(cluster.run("list").stdout)
    assert headings == ["NAME", "PROVIDER", "STATE", "CREATED", "KUBECONFIG"]
    assert row[:3] == ["e2e", "embedded", "up"]
    assert cluster.run("prune").stdout == "Nothing to remove.\n"
    again = cluster.run("up", "--name", "e2e")
    assert again.returncode == 2
    assert "there is a cluster 'e2e' already" in again.stderr
    unknown = cluster.run("down", "other")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "Clusters: e2e" in unknown.stderr


def test_nodes_and_slices(kubectl: Kubectl) -> None:
    nodes = rows(kubectl.ok("get", "nodes"))
    assert nodes[0] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [row[:2] for row in nodes[1:]] == [["worker-0", "Ready"], ["worker-1", "Ready"]]
    slices = rows(kubectl.ok("get", "resourceslices"))
    assert slices[0] == ["NAME", "NODE", "DRIVER", "POOL", "AGE"]
    assert [row[1] for row in slices[1:]] == ["worker-0", "worker-1"]
    by_driver = kubectl.json("get", "resourceslices", "--field-selector=spec.nodeName=worker-1")
    assert [item["spec"]["nodeName"] for item in by_driver["items"]] == ["worker-1"]


def test_create_and_get(kubectl: Kubectl) -> None:
    for name in ("red", "blue"):
        created = kubectl.ok("create", "-f", "-", stdin=CLAIM.format(name=name))
        assert created == f"resourceclaim.resource.k8s.io/{name} created\n"
    again = kubectl.fails("create", "-f", "-", stdin=CLAIM.format(name="red"))
    assert 'resourceclaims.resource.k8s.io "red" already exists' in again
    table = rows(kubectl.ok("get", "resourceclaims"))
    assert table[0] == ["NAME", "STATE", "AGE"]
    assert [row[:2] for row in table[1:]] == [["blue", "pending"], ["red", "pending"]]
    document = kubectl.json("get", "resourceclaim", "red")
    exactly = document["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly == {"deviceClassName": "flake-hunt", "allocationMode": "ExactCount", "count": 1}
    by_label = kubectl.ok("get", "resourceclaims", "-l", "app in (red)", "--output=name")
    assert by_label == "resourceclaim.resource.k8s.io/red\n"
    by_field = kubectl.ok(
        "get", "resourceclaims", "--field-selector=metadata.name!=red", "--output=name"
    )
    assert by_field == "resourceclaim.resource.k8s.io/blue\n"
    missing = kubectl.fails("get", "resourceclaim", "green")
    assert missing == (
        'Error from server (NotFound): resourceclaims.resource.k8s.io "green" not found\n'
    )
    invalid = kubectl.fails("create", "-f", "-", stdin=CLAIM.format(name="Not_A_Name"))
    assert "RFC 1123" in invalid
    assert kubectl.run("get", "secrets").stderr.startswith("No resources found")


def test_get_and_watch(kubectl: Kubectl) -> None:
    def change(value: str) -> None:
        kubectl.ok("apply", "-f", "-", stdin=CONFIG.format(value=value).replace("config}", "seen}"))

    change("one")
    watching = kubectl.argv("get", "configmap", "seen", "--watch", "--output=jsonpath={.data.key} ")
    with subprocess.Popen(watching, stdout=subprocess.PIPE, env=kubectl.env) as process:
        assert process.stdout is not None
        assert process.stdout.read(4) == b"one "
        change("two")
        assert process.stdout.read(4) == b"two "
        change("six")
        assert process.stdout.read(4) == b"six "
        assert process.poll() is None
        process.terminate()


def test_apply(kubectl: Kubectl) -> None:
    said = [
        kubectl.ok("apply", "-f", "-", stdin=CONFIG.format(value=value))
        for value in ("one", "one", "two")
    ]
    assert said == [f"configmap/config {what}\n" for what in ("created", "unchanged", "configured")]
    assert kubectl.json("get", "configmap", "config")["data"] == {"key": "two"}
    claim = CLAIM.format(name="applied")
    kubectl.ok("apply", "-f", "-", stdin=claim)
    before = kubectl.json("get", "resourceclaim", "applied")
    kubectl.ok("apply", "-f", "-", stdin=claim)  # "configured" or "unchanged", by version
    assert kubectl.json("get", "resourceclaim", "applied") == before
    other = claim.replace("flake-hunt", "other")
    assert "field is immutable" in kubectl.fails("apply", "-f", "-", stdin=other)


def test_apply_on_the_server(kubectl: Kubectl) -> None:
    def apply(manager: str, *options: str) -> list[str]:
        return ["apply", "--server-side", f"--field-manager={manager}", *options, "-f", "-"]

    def shared(value: str) -> str:
        return CONFIG.format(value=value).replace("config}", "shared}")

    for arguments, value in [
        (apply("one"), "a"),
        (apply("one"), "a"),
        (apply("two", "--force-conflicts"), "b"),
    ]:
        said = kubectl.ok(*arguments, stdin=shared(value))
        assert said == "configmap/shared serverside-applied\n"
    refused = kubectl.fails(*apply("one"), stdin=shared("c"))
    assert 'conflict with "two": .data.key' in refused
    assert kubectl.json("get", "configmap", "shared")["data"] == {"key": "b"}


def test_patches(kubectl: Kubectl) -> None:
    config = CONFIG.format(value="one").replace("config}", "patched}")
    kubectl.ok("create", "-f", "-", stdin=config)
    for kind, patch in [
        ("strategic", '{"data": {"strategic": "yes"}}'),
        ("merge", '{"data": {"merge": "yes", "key": null}}'),
        ("json", '[{"op": "add", "path": "/data/json", "value": "yes"}]'),
    ]:
        said = kubectl.ok("patch", "configmap", "patched", f"--type={kind}", "--patch", patch)
        assert said == "configmap/patched patched\n"
    data = kubectl.json("get", "configmap", "patched")["data"]
    assert data == {"strategic": "yes", "merge": "yes", "json": "yes"}
    again = kubectl.ok(
        "patch", "configmap", "patched", "--type=merge", "--patch", '{"data": {"merge": "yes"}}'
    )
    assert again == "configmap/patched patched (no change)\n"
    missing = '[{"op": "replace", "path": "/nothing/here", "value": 1}]'
    kubectl.fails("patch", "configmap", "patched", "--type=json", "--patch", missing)


def test_wait(kubectl: Kubectl) -> None:
    kubectl.ok("create", "-f", "-", stdin=POD.format(name="waited", node="worker-0"))
    running = kubectl.ok("wait", "pod/waited", "--for=condition=Ready", "--timeout=30s")
    assert running == "pod/waited condition met\n"
    phase = "--for=jsonpath={.status.phase}=Running"
    assert kubectl.ok("wait", "pod/waited", phase, "--timeout=30s") == "pod/waited condition met\n"
    too_late = kubectl.fails("wait", "pod/waited", "--for=condition=Never", "--timeout=1s")
    assert "timed out waiting for the condition" in too_late
    waiting = kubectl.argv("wait", "pod/waited", "--for=delete", "--timeout=30s", "-v=6")
    pipe = subprocess.PIPE
    with subprocess.Popen(waiting, stdout=pipe, stderr=pipe, env=kubectl.env) as process:
        assert process.stderr is not None
        assert any(b"watch=true" in line for line in process.stderr), "it does not watch"
        kubectl.ok("delete", "pod", "waited", "--wait=false")
        said, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert said == b"pod/waited condition met\n"
    assert "not found" in kubectl.fails("get", "pod", "waited")


def test_delete(kubectl: Kubectl) -> None:
    for name in ("one", "two", "three"):
        kubectl.ok("create", "-f", "-", stdin=POD.format(name=name, node="worker-1"))
        kubectl.ok("create", "-f", "-", stdin=CLAIM.format(name=name))
    columns = ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert rows(kubectl.ok("get", "pods", "one"))[0] == columns
    deleted = kubectl.ok("delete", "pod", "one")
    assert deleted.startswith('pod "one" deleted')
    deleted = kubectl.ok("delete", "pods", "-l", "app=two", "--grace-period=1")
    assert deleted.startswith('pod "two" deleted')
    deleted = kubectl.ok("delete", "resourceclaim", "one")
    assert deleted.startswith('resourceclaim.resource.k8s.io "one" deleted')
    deleted = kubectl.ok("delete", "resourceclaims", "two", "three")
    assert len(deleted.splitlines()) == 2
    forced = kubectl.run("delete", "pods", "--all", "--force", "--grace-period=0")
    assert forced.returncode == 0
    assert 'pod "three" force deleted' in forced.stdout
    assert kubectl.json("get", "pods")["items"] == []
    assert 'pods "one" not found' in kubectl.fails("delete", "pod", "one")
    assert kubectl.ok("delete", "pod", "one", "--ignore-not-found") == ""
