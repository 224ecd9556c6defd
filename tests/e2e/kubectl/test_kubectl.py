"""kubectl as people use it, in several versions, against a cluster that the command line has
started.

The oldest, the newest and one between of those that `kubectls` finds are used. The script of
commands that every version goes through is in test_kubectl_script.py.
"""

import pathlib
import subprocess

import pytest

from tests.e2e import kubectls

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("kubectl")]
cluster = kubectls.cluster
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
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: config}}
data: {{key: {value}}}
"""


@pytest.fixture(scope="module")
def programs() -> dict[str, pathlib.Path]:
    """The oldest, the newest, and one between."""
    by_version = {kubectls.version_of(path): path for path in reversed(kubectls.candidates())}
    versions = sorted(
        version for version in by_version if version and version >= kubectls.VERSION_MIN
    )
    found = [by_version[version] for version in versions]
    if not found:
        pytest.skip(kubectls.NONE_FOUND)
    chosen = {"oldest": found[0]}
    if len(found) > 1:
        chosen["newest"] = found[-1]
    if len(found) > 2:
        chosen["between"] = found[len(found) // 2]
    return chosen


@pytest.fixture(scope="module", params=["oldest", "between", "newest"])
def kubectl(
    request: pytest.FixtureRequest, programs: dict[str, pathlib.Path], cluster: kubectls.Cluster
) -> kubectls.Kubectl:
    if request.param not in programs:
        pytest.skip(f"only {len(programs)} versions of kubectl were found")
    env = {**cluster.env, "KUBECONFIG": cluster.kubeconfig}
    made = kubectls.Kubectl(programs[request.param], request.param, env)
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {request.param}\n"
    said = made.ok("create", "-f", "-", stdin=namespace)
    assert said == f"namespace/{request.param} created\n"
    return made


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_what_the_cluster_command_says(cluster: kubectls.Cluster) -> None:
    assert "Cluster 'e2e' is up: 2 nodes with 2 devices each." in cluster.said
    assert f"export KUBECONFIG={cluster.kubeconfig}" in cluster.said
    headings, row = rows(cluster.run("list").stdout)
    assert headings == ["NAME", "PROVIDER", "STATE", "CREATED", "KUBECONFIG"]
    assert row[:3] == ["e2e", "embedded", "up"]
    assert cluster.run("prune").stdout == "Nothing to remove.\n"
    again = cluster.run("up", "e2e")
    assert again.returncode == 2
    assert "a cluster 'e2e' already exists" in again.stderr
    unknown = cluster.run("down", "other")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "Clusters: e2e" in unknown.stderr


def test_nodes_and_slices(kubectl: kubectls.Kubectl) -> None:
    nodes = rows(kubectl.ok("get", "nodes"))
    assert nodes[0] == ["NAME", "STATUS", "VERSION", "AGE"]
    assert [row[:2] for row in nodes[1:]] == [["worker-0", "Ready"], ["worker-1", "Ready"]]
    slices = rows(kubectl.ok("get", "resourceslices"))
    assert slices[0] == ["NAME", "NODE", "DRIVER", "POOL", "AGE"]
    assert [row[1] for row in slices[1:]] == ["worker-0", "worker-1"]
    by_driver = kubectl.json("get", "resourceslices", "--field-selector=spec.nodeName=worker-1")
    assert [item["spec"]["nodeName"] for item in by_driver["items"]] == ["worker-1"]


def test_create_and_get(kubectl: kubectls.Kubectl) -> None:
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


def test_get_and_watch(kubectl: kubectls.Kubectl) -> None:
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


def test_apply(kubectl: kubectls.Kubectl) -> None:
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


def test_apply_on_the_server(kubectl: kubectls.Kubectl) -> None:
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


def test_patches(kubectl: kubectls.Kubectl) -> None:
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


def test_wait(kubectl: kubectls.Kubectl) -> None:
    kubectl.ok("create", "-f", "-", stdin=kubectls.POD.format(name="waited", node="worker-0"))
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
        said, _ = process.communicate(timeout=kubectls.TIMEOUT_S)
    assert process.returncode == 0
    assert said == b"pod/waited condition met\n"
    assert "not found" in kubectl.fails("get", "pod", "waited")


def test_delete(kubectl: kubectls.Kubectl) -> None:
    for name in ("one", "two", "three"):
        kubectl.ok("create", "-f", "-", stdin=kubectls.POD.format(name=name, node="worker-1"))
        kubectl.ok("create", "-f", "-", stdin=CLAIM.format(name=name))
    columns = ["NAME", "STATUS", "NODE", "AGE"]
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
