"""The kind command: finding it, and its failures in words. The texts are kind's own, as reported in
its issues.
"""

import pathlib

import pytest

from harness import errors
from harness.cluster.kind import kind_command, kind_failures


def executable(folder: pathlib.Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "bin"
    executable(folder, "docker", "exit 0")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_kind_that_is_there(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.33.0 go1.25.5 linux/amd64")
    found = kind_command.find(at_least="0.33.0")
    assert found.version == (0, 33, 0)
    assert found.path == str(programs / "kind")


def test_a_version_between_releases(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.34.0-alpha+4d2f4e2b1a1b1c go1.25.5 darwin/arm64")
    assert kind_command.find(at_least="0.33.0").version == (0, 34, 0)


def test_no_kind(programs: pathlib.Path) -> None:
    with pytest.raises(errors.ClusterError, match=r"found none: install kind v0\.33\.0 or newer"):
        kind_command.find(at_least="0.33.0")


def test_a_kind_that_is_too_old(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.9.0 go1.15.2 linux/amd64")
    with pytest.raises(
        errors.ClusterError, match=r"expected kind v0\.33\.0 or newer, got v0\.9\.0"
    ):
        kind_command.find(at_least="0.33.0")


def test_no_docker_command(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.33.0 go1.25.5 linux/amd64")
    (programs / "docker").unlink()
    with pytest.raises(errors.ClusterError, match="expected the command docker in PATH"):
        kind_command.find(at_least="0.33.0")


def test_something_else_called_kind(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo usage: kind of a program")
    with pytest.raises(errors.ClusterError, match="to print `kind v"):
        kind_command.find(at_least="0.33.0")


SAID = [
    pytest.param(
        'ERROR: failed to create cluster: node(s) already exist for a cluster with the name "fh-a"',
        "flake-hunt cluster prune",
        id="create.go alreadyExists",
    ),
    pytest.param(
        'ERROR: failed to create cluster: failed to pull image "kindest/node:v1.17.0@sha256:95": command '
        '"docker pull kindest/node:v1.17.0@sha256:95" failed with error: exit status 1\n\n'
        "Command Output: Error response from daemon: Get https://registry.example/v2/: net/http: "
        "request canceled while waiting for connection",
        "--cluster image_archive=",
        id="issue 1328",
    ),
    pytest.param(
        "ERROR: failed to create cluster: could not find a log line that matches "
        '"Reached target .*Multi-User System.*|detected cgroup v1"',
        "fs.inotify.max_user_instances=512",
        id="issue 3423",
    ),
    pytest.param(
        'ERROR: failed to create cluster: failed to list nodes: command "docker ps -a --filter '
        'label=io.x-k8s.kind.cluster=x" failed with error: exit status 1\n'
        "Command Output: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the "
        "docker daemon running?",
        "sudo systemctl start docker",
        id="engine down",
    ),
    pytest.param(
        'ERROR: failed to create cluster: failed to get docker info: command "docker info" failed with '
        "error: exit status 1\nCommand Output: permission denied while trying to connect to the Docker "
        "daemon socket at unix:///var/run/docker.sock",
        "usermod -aG docker",
        id="not in the group",
    ),
    pytest.param(
        'ERROR: failed to create cluster: failed to ensure docker network: command "docker network '
        'create -d=bridge kind" failed with error: exit status 1\nCommand Output: Error response from '
        "daemon: could not find an available, non-overlapping IPv4 address pool among the defaults to "
        "assign to the network",
        "docker network prune",
        id="issue 2488",
    ),
    pytest.param(
        'ERROR: failed to create cluster: command "docker run --name fh-a-control-plane" failed with '
        "error: exit status 125\n\nCommand Output: 924bc56918b8\ndocker: Error response from daemon: driver "
        "failed programming external connectivity on endpoint fh-a-control-plane: Bind for "
        "127.0.0.1:34631 failed: port is already allocated.",
        "another program took the port",
        id="port taken",
    ),
    pytest.param(
        'ERROR: failed to create cluster: failed to init node with kubeadm: command "docker exec '
        '--privileged x kubeadm init" failed with error: exit status 1\nCommand Output: timed out '
        "waiting for the condition",
        "flake-hunt doctor kind",
        id="issue 3319",
    ),
    pytest.param(
        'ERROR: failed to create cluster: failed to init node with kubeadm: command "docker exec '
        '--privileged x kubeadm init" failed with error: exit status 1\nCommand Output: E1020 21:24:39.706440 run.go:72] '
        '"command failed" err="failed to validate kubelet configuration, error: kubelet is configured to not run on a host using '
        'cgroup v1. cgroup v1 support is unsupported and will be removed in a future release"',
        "failCgroupV1: false",
        id="kubelet 1.35 on cgroup v1",
    ),
    pytest.param(
        "ERROR: failed to create cluster: running kind with rootless provider requires cgroup v2, see "
        "https://kind.sigs.k8s.io/docs/user/rootless/",
        "systemd.unified_cgroup_hierarchy=1",
        id="create.go validateProvider",
    ),
    pytest.param(
        'ERROR: failed to create cluster: failed to pull image "x": command "docker pull x" failed with '
        "error: exit status 1\nCommand Output: failed to register layer: write /usr/bin/x: no space left on "
        "device",
        "docker system prune",
        id="disk full while pulling",
    ),
]


@pytest.mark.parametrize(("said", "remedy"), SAID)
def test_every_known_failure_has_its_remedy(said: str, remedy: str) -> None:
    message = kind_failures.explain(
        ["create", "cluster"], 1, f" ✗ …\n{said}", pathlib.Path("kind.log")
    )
    first, second, third = message.splitlines()
    assert first.startswith("`kind create cluster` failed: ")
    assert remedy in first
    assert second.startswith("  kind said: failed to create cluster: ")
    assert third == "  kind.log"


def test_an_unknown_failure_points_to_the_log() -> None:
    message = kind_failures.explain(["create", "cluster"], 139, "", pathlib.Path("kind.log"))
    assert "see kind.log" in message
    assert "exit code 139" in message
