"""End to end on real Kubernetes by kind and Docker: `make e2e-kind`. Skips, and says why, where a
part is missing.

Which profiles: E2E_KIND_PROFILES=kind-1.36,kind-1.37 (default: the profile `kind` for everything,
and each shipped version for the first test). Checks of the engine ask the
engine, not of the code under test.
"""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import tarfile
from collections.abc import Iterator

import docker
import pytest
import yaml

from harness import clocks
from harness.client import apis, transports
from harness.cluster import doctor
from harness.cluster.fake_nodes import fake_objects
from harness.scenario import profiles
from tests.e2e import running

SHIPPED = [name for name in profiles.SHELF.names() if name.startswith("kind-")]
MAIN = running.KIND_PROFILE
LABEL = "io.x-k8s.kind.cluster"


def _missing() -> str:
    if os.environ.get("E2E") != "kind":
        return "end to end on kind is run by: make e2e-kind"
    missing = [item for item in doctor.examine("kind") if item.state == "missing"]
    return "; ".join(f"{item.part}: {item.remedy}" for item in missing)


_REASON = _missing()
pytestmark = [
    pytest.mark.kind,
    pytest.mark.e2e,
    pytest.mark.skipif(bool(_REASON), reason=_REASON),
    pytest.mark.timeout(running.KIND_TIMEOUT_S + 600),
]


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: pathlib.Path) -> Iterator[None]:
    """Every test begins and ends without a container of ours, whatever it does in between."""
    before = clusters()
    yield
    flake_hunt(tmp_path, "cluster", "prune")
    assert clusters() == before


def clusters() -> set[str]:
    with contextlib.closing(docker.from_env()) as client:
        found = client.api.containers(all=True, filters={"label": LABEL})
    return {item["Labels"][LABEL] for item in found if item["Labels"][LABEL].startswith("fh-")}


def volumes() -> set[str]:
    with contextlib.closing(docker.from_env()) as client:
        return {item["Name"] for item in client.api.volumes()["Volumes"] or []}


def users_kubeconfig() -> bytes | None:
    path = pathlib.Path.home() / ".kube" / "config"
    return path.read_bytes() if path.exists() else None


def flake_hunt(folder: pathlib.Path, *arguments: str, expected: int = 0) -> str:
    with running.started(folder, *arguments) as command:
        code = command.wait(timeout_s=running.KIND_TIMEOUT_S)
        assert code == expected, command.text()
        return command.text()


@contextlib.contextmanager
def cluster(folder: pathlib.Path, profile: str) -> Iterator[pathlib.Path]:
    """A cluster that stays for a while; its kubeconfig."""
    flake_hunt(folder, "cluster", "up", "e2e", "--cluster", profile, "--nodes", "2")
    try:
        path = flake_hunt(folder, "cluster", "kubeconfig", "e2e")
        yield pathlib.Path(path.strip())
    finally:
        flake_hunt(folder, "cluster", "down", "e2e")


def flags(component: str) -> dict[str, str]:
    with contextlib.closing(docker.from_env()) as client:
        node = client.containers.get("fh-e2e-control-plane")
        chunks, _ = node.get_archive(f"/etc/kubernetes/manifests/{component}.yaml")
        text = _only_file(chunks)
    words = yaml.safe_load(text)["spec"]["containers"][0]["command"]
    return dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)


def _only_file(chunks: Iterator[bytes]) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        stream = archive.extractfile(archive.getmembers()[0])
        assert stream is not None
        return stream.read()


@pytest.mark.parametrize("name", running.KIND_PROFILES or SHIPPED)
def test_a_cluster_of_each_version_is_what_was_asked_for(tmp_path: pathlib.Path, name: str) -> None:
    profile = profiles.load(name)
    assert isinstance(profile, profiles.KindProfile)
    before, own = volumes(), users_kubeconfig()
    with cluster(tmp_path, name) as kubeconfig, running.api(kubeconfig) as api:
        answer = api.transport.send(transports.Request(method="GET", path="/version"))
        assert json.loads(answer.body)["gitVersion"].partition("+")[0] == profile.kubernetes
        assert {"worker-0", "worker-1"} <= {
            node["metadata"]["name"] for node in api.list(apis.NODES).items
        }
        assert len(api.list(apis.SLICES).items) >= 2
        assert flags("kube-apiserver")["audit-log-path"].endswith("/audit.log")
        assert "-resourceclaim-controller" in flags("kube-controller-manager")["controllers"].split(
            ","
        )
        logs = flake_hunt(tmp_path, "cluster", "logs", "e2e", str(tmp_path / "logs"))
        assert "audit.log" in logs
    assert volumes() <= before, "an anonymous volume is left"
    assert users_kubeconfig() == own


def test_fake_nodes_stay_ready_without_leases(tmp_path: pathlib.Path) -> None:
    """Kubernetes' own grace period is 50 s; the patched one keeps nodes Ready although their leases
    are not renewed.
    """
    if MAIN not in ("kind", *SHIPPED):
        pytest.skip("the stand-in has no node-lifecycle controller")
    with cluster(tmp_path, MAIN) as kubeconfig, running.api(kubeconfig) as api:
        silent = fake_objects.node_object("silent", labels={})
        del silent["metadata"]["annotations"]  # which say to our kubelets that it is one of theirs
        api.create(apis.NODES, silent)
        clocks.sleep(75)  # it is time that must pass
        leases = api.list(apis.LEASES, namespace="kube-node-lease").items
        node = api.get(apis.NODES, "silent")
    assert "silent" not in {lease["metadata"]["name"] for lease in leases}
    ready = {item["type"]: item["status"] for item in node["status"]["conditions"]}["Ready"]
    assert ready == "True"


def test_two_runs_side_by_side(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    with contextlib.ExitStack() as both:
        commands = [
            both.enter_context(
                running.started(tmp_path, "run", scenario, "--cluster", MAIN, *running.LONGER)
            )
            for _ in range(2)
        ]
        codes = [command.wait(timeout_s=running.KIND_TIMEOUT_S) for command in commands]
        assert codes == [0, 0], [command.text() for command in commands]


@pytest.mark.parametrize("after_s", [1.0, 4.0, 10.0])
def test_killed_while_it_creates(tmp_path: pathlib.Path, after_s: float) -> None:
    before = volumes()
    scenario = str(running.scenario(tmp_path))
    with running.started(tmp_path, "run", scenario, "--cluster", MAIN) as command:
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.process.wait(after_s)
        if command.process.poll() is None:
            command.process.send_signal(signal.SIGKILL)
        command.process.wait(60)
        flake_hunt(tmp_path, "cluster", "prune")
        command.require_alone()
    assert volumes() <= before


def test_an_image_that_there_is_not(tmp_path: pathlib.Path) -> None:
    """It ends with one message, without a cluster and without a traceback."""
    image = f"image=kindest/node:v0.0.1@sha256:{'0' * 64}"
    arguments = ("cluster", "up", "e2e", "--cluster", MAIN, "--cluster", image)
    text = flake_hunt(tmp_path, *arguments, expected=1)
    assert "image_archive" in text
    assert "Traceback" not in text


def test_from_an_archive(tmp_path: pathlib.Path) -> None:
    """Saved by digest and loaded again: a loaded image has no digest, so the version is what is
    verified.
    """
    profile = profiles.load(MAIN)
    assert isinstance(profile, profiles.KindProfile)
    archive = tmp_path / "node.tar"
    with contextlib.closing(docker.from_env(timeout=600)) as client, archive.open("wb") as file:
        try:
            file.writelines(client.images.get(profile.image).save(named=True))
        except docker.errors.APIError as error:
            pytest.skip(f"the image cannot be saved: {error.explanation}")
    setting = f"image_archive={archive}"
    arguments = ("cluster", "up", "e2e", "--cluster", MAIN, "--cluster", setting)
    flake_hunt(tmp_path, *arguments)
    flake_hunt(tmp_path, "cluster", "down", "e2e")
