"""kubectl as people use it, in every version that is on this machine, against a cluster that the
command line has started.

Each version goes through one script of commands. A line of it is what is typed and a pattern of
what has to be printed; `!` in front of it says that the command has to fail, and `1.28:` that older
versions do not have it. Each has a namespace of its own: `{me}` is its name.
"""

import contextlib
import json
import pathlib
import re
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.e2e import kubectls
from tests.support import cases

pytestmark = pytest.mark.e2e
cluster = kubectls.cluster
FILES = {
    "pod.yaml": kubectls.POD.format(name="by-hand", node="worker-0"),
    "leaving.yaml": kubectls.POD.format(name="leaving", node="worker-1"),
    **{name: json.dumps(made) for name, made in cases.read(__file__, "files").items()},
}
SCRIPT = pathlib.Path(__file__).with_suffix(".txt").read_text()
FOUND = {path.name: path for path in reversed(kubectls.candidates())}
PROTOBUF = "Content-Type: application/vnd.kubernetes.protobuf"


class Line(NamedTuple):
    """One command of the script."""

    since: tuple[int, int]
    fails: bool
    words: list[str]
    pattern: str


def lines() -> Iterator[Line]:
    for line in filter(None, SCRIPT.splitlines()):
        typed, pattern = re.split(r"\s{2,}", line, maxsplit=1)
        since, typed = re.fullmatch(r"(?:1\.(\d+): )?(.*)", typed).groups()  # type: ignore[union-attr]
        words = re.split(r"(?<!\\) ", typed.removeprefix("! "))
        yield Line(
            (1, int(since or 0)),
            typed.startswith("! "),
            [word.replace("\\ ", " ") for word in words],
            pattern,
        )


def play(
    kubectl: kubectls.Kubectl, version: tuple[int, int], folder: pathlib.Path
) -> Iterator[str]:
    """Yield the commands that go otherwise than the script says, with their output."""
    for line in lines():
        if line.since > version:
            continue
        arguments = [word.replace("{me}", kubectl.namespace) for word in line.words]
        ended = subprocess.run(
            kubectl.argv(*arguments),
            capture_output=True,
            text=True,
            cwd=folder,
            env=kubectl.env,
            timeout=kubectls.TIMEOUT_S,
            check=False,
        )
        differs = ended.returncode == 1 and arguments[0] == "diff"
        succeeded = ended.returncode == 0 or differs
        said = ended.stderr if line.fails else ended.stdout
        pattern = line.pattern.replace("{me}", kubectl.namespace)
        if succeeded is line.fails or not re.search(pattern, said):
            yield f"{' '.join(arguments)}: {ended.stdout}{ended.stderr}"


@pytest.mark.parametrize("name", sorted(FOUND) or ["none"])
def test_every_version_goes_through_the_script(
    cluster: kubectls.Cluster, tmp_path: pathlib.Path, name: str
) -> None:
    version = kubectls.version_of(FOUND[name]) if name in FOUND else None
    if version is None or version < kubectls.VERSION_MIN:
        pytest.skip(f"{name} is of version {version}" if name in FOUND else kubectls.NONE_FOUND)
    if f"kubectl.{version[0]}.{version[1]}" in FOUND.keys() - {name}:
        pytest.skip(f"{name} is of version {version}, which has its turn already")
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    env = {**cluster.env, "KUBECONFIG": cluster.kubeconfig, "HOME": str(tmp_path)}
    kubectl = kubectls.Kubectl(FOUND[name], name.replace(".", "-"), env)
    assert "\n".join(play(kubectl, version, tmp_path)) == ""


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


# ------------------------------------------------------------------- the newest version


@pytest.fixture
def kubectl(cluster: kubectls.Cluster) -> kubectls.Kubectl:
    env = {**cluster.env, "KUBECONFIG": cluster.kubeconfig}
    return kubectls.Kubectl(kubectls.newest(), "default", env)


def test_a_wait_for_the_end_of_a_pod_watches(kubectl: kubectls.Kubectl) -> None:
    kubectl.ok("create", "-f", "-", stdin=kubectls.POD.format(name="waited", node="worker-0"))
    waiting = kubectl.argv("wait", "pod/waited", "--for=delete", "--timeout=30s", "-v=6")
    pipe = subprocess.PIPE
    with subprocess.Popen(waiting, stdout=pipe, stderr=pipe, env=kubectl.env) as process:
        assert process.stderr is not None
        assert any(b"watch=true" in line for line in process.stderr), "it does not watch"
        kubectl.ok("delete", "pod", "waited", "--wait=false")
        said, _ = process.communicate(timeout=kubectls.TIMEOUT_S)
    assert (process.returncode, said) == (0, b"pod/waited condition met\n")
    assert "not found" in kubectl.fails("get", "pod", "waited")


def test_typed_clients_write_and_read_protobuf(kubectl: kubectls.Kubectl) -> None:
    """`create quota` sends a message, `describe` asks for several, as kube-scheduler does."""
    made = kubectl.run("create", "quota", "few", "--hard=pods=3,requests.cpu=500m", "-v=9")
    assert "resourcequota/few created" in made.stdout
    assert PROTOBUF in made.stderr
    assert kubectl.json("get", "quota", "few")["spec"] == {
        "hard": {"pods": "3", "requests.cpu": "500m"}
    }
    kubectl.ok("create", "-f", "-", stdin=json.dumps(cases.read(__file__, "pod")))
    shown = kubectl.run("describe", "pod", "typed", "-v=9").stdout
    for text in ("http-get http://:web/alive", "(v1:metadata.name)", "500m", "by a ConfigMap"):
        assert text in shown


def test_a_watch_in_protobuf(kubectl: kubectls.Kubectl) -> None:
    watching = kubectl.argv("events", "--watch", "-v=9")
    pipe, merged = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(
        watching, stdout=pipe, stderr=merged, env=kubectl.env, text=True
    ) as process:
        assert process.stdout is not None
        with contextlib.closing(process.stdout) as told:
            assert any("watch=true" in line for line in told)
            kubectl.ok("create", "-f", "-", stdin=json.dumps(cases.read(__file__, "event")))
            assert any("Tested" in line and "in a message" in line for line in told)
        process.terminate()
