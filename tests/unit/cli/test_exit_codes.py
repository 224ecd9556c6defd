"""One rule over all providers: 2 for what was asked for and cannot be used, 1 for a cluster that
failed although everything was there.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.scenario import profiles

VERSIONED = (
    '#!/bin/sh\n[ "$1" = --version ] && echo "Version: v3.6.0" && exit 0\necho broken >&2\nexit 1\n'
)
KIND = "#!/bin/sh\necho kind v0.33.0 go1.25.5 linux/amd64\n"
COMMANDS = [["run", "pod-churn"], ["cluster", "up"], ["hunt", "pod-churn"]]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A machine with nothing on it: its PATH is `bin`, where no Docker listens."""
    (tmp_path / "bin").mkdir()
    return tmp_path


def install(folder: pathlib.Path, name: str, text: str) -> None:
    path = folder / "bin" / name
    path.write_text(text)
    path.chmod(0o755)


def flake_hunt(folder: pathlib.Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    ended = subprocess.run(
        [sys.executable, "-m", "harness.cli.main", *arguments],
        env={
            "HOME": str(folder),
            "DOCKER_HOST": f"unix://{folder}/no.sock",
            "PATH": f"{folder}/bin",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    assert not (folder / "reports").exists() or not list((folder / "reports").rglob("plan.json"))
    return ended


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("key", ["port", "tls_port"])
def test_embedded_a_taken_port(
    folder: pathlib.Path, command: list[str], key: str, taken: int
) -> None:
    ended = flake_hunt(folder, *command, "--cluster-set", f"{key}={taken}")
    assert ended.returncode == 2, ended.stderr
    assert f"expected port {taken} of 127.0.0.1 to be free (address already in use)" in ended.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_local_a_missing_binary(folder: pathlib.Path, command: list[str]) -> None:
    ended = flake_hunt(folder, *command, "--cluster", "local", "--binaries", str(folder))
    assert ended.returncode == 2, ended.stderr
    assert "expected the binary etcd in" in ended.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_kind_a_missing_command_and_no_engine(folder: pathlib.Path, command: list[str]) -> None:
    chosen = (*command, "--cluster", "kind")
    said = [flake_hunt(folder, *chosen)]
    install(folder, "docker", "#!/bin/sh\nexit 0\n")
    said.append(flake_hunt(folder, *chosen))
    install(folder, "kind", KIND.replace("0.33", "0.9"))
    said.append(flake_hunt(folder, *chosen))
    install(folder, "kind", KIND)
    said.append(flake_hunt(folder, *chosen))
    assert [ended.returncode for ended in said] == [2, 2, 2, 2]
    expected = ["command docker", "command kind", "got v0.9.0", "sudo systemctl start docker"]
    for ended, words in zip(said, expected, strict=True):
        assert words in ended.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_kubeconfig_a_missing_file_and_a_server_that_does_not_answer(
    folder: pathlib.Path, command: list[str]
) -> None:
    path = folder / "config"
    chosen = (*command, "--cluster", "kubeconfig", "--kubeconfig", str(path))
    assert flake_hunt(folder, *chosen).returncode == 2
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    }
    path.write_text(json.dumps(document))
    ended = flake_hunt(folder, *chosen)
    assert ended.returncode == 2, ended.stderr
    assert "Is the cluster up" in ended.stderr


def test_a_cluster_that_fails_although_everything_is_there(folder: pathlib.Path) -> None:
    for name in ("etcd", "kube-apiserver"):
        install(folder, name, VERSIONED)
    ended = flake_hunt(folder, "cluster", "up", "--cluster", "local")
    assert ended.returncode == 1, ended.stderr
    assert "expected etcd to start, but it ended with exit code 1" in ended.stderr


def test_every_provider_has_its_test_here() -> None:
    source = pathlib.Path(__file__).read_text()
    for provider in {profiles.load(name).provider for name in profiles.shipped_names()}:
        assert f"def test_{provider}_" in source
