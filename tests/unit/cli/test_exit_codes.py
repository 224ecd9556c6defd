"""One rule over all providers: 2 for what was asked for and cannot be used, 1 for a cluster that
failed although everything was there.
"""

import json
import os
import pathlib
import socket
from collections.abc import Callable, Iterator

import pytest

VERSIONED = (
    '#!/bin/sh\n[ "$1" = --version ] && echo "Version: v3.6.0" && exit 0\necho broken >&2\nexit 1\n'
)
KIND = "#!/bin/sh\necho kind v0.33.0 go1.25.5 linux/amd64\n"
FlakeHunt = Callable[..., tuple[int, str, str]]
Failing = Callable[..., tuple[int, str]]
COMMANDS = [["run", "pod-churn"], ["cluster", "up"], ["hunt", "pod-churn"]]


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A machine with nothing on it: its PATH is `bin`, where no Docker listens."""
    (tmp_path / "bin").mkdir()
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    for name in list(os.environ):
        monkeypatch.delenv(name)
    there = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin"}
    for name, value in {**kept, **there, "DOCKER_HOST": f"unix://{tmp_path}/no.sock"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def install(folder: pathlib.Path, name: str, text: str) -> None:
    path = folder / "bin" / name
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def failing(folder: pathlib.Path, flake_hunt: FlakeHunt) -> Failing:
    def fail(*arguments: str) -> tuple[int, str]:
        code, _, complaint = flake_hunt(*arguments)
        assert "Traceback" not in complaint
        assert not list(folder.glob("reports/**/plan.json"))
        return code, complaint

    return fail


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("key", ["port", "tls_port"])
def test_embedded_a_taken_port(failing: Failing, command: list[str], key: str, taken: int) -> None:
    code, complaint = failing(*command, "--cluster", f"{key}={taken}")
    assert code == 2, complaint
    assert f"expected port {taken} of 127.0.0.1 to be free (address already in use)" in complaint


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_local_a_missing_binary(failing: Failing, folder: pathlib.Path, command: list[str]) -> None:
    code, complaint = failing(*command, "--cluster", "local", "--cluster", f"binaries={folder}")
    assert code == 2, complaint
    assert "expected the binary etcd in" in complaint


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_kind_a_missing_command_and_no_engine(
    failing: Failing, folder: pathlib.Path, command: list[str]
) -> None:
    chosen = (*command, "--cluster", "kind")
    said = [failing(*chosen)]
    install(folder, "docker", "#!/bin/sh\nexit 0\n")
    said.append(failing(*chosen))
    install(folder, "kind", KIND.replace("0.33", "0.9"))
    said.append(failing(*chosen))
    install(folder, "kind", KIND)
    said.append(failing(*chosen))
    expected = [
        "found no docker",
        "found no kind",
        "kind v0.9.0",
        "or name another engine in DOCKER_HOST",
    ]
    for (code, complaint), words in zip(said, expected, strict=True):
        assert code == 2, complaint
        assert words in complaint


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_kubeconfig_a_missing_file_and_a_server_that_does_not_answer(
    failing: Failing, folder: pathlib.Path, command: list[str]
) -> None:
    path = folder / "config"
    chosen = (*command, "--cluster", "kubeconfig", "--cluster", f"kubeconfig={path}")
    assert failing(*chosen)[0] == 2
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    }
    path.write_text(json.dumps(document))
    code, complaint = failing(*chosen)
    assert code == 2, complaint
    assert "Is the cluster up" in complaint


def test_a_cluster_that_fails_although_everything_is_there(
    failing: Failing, folder: pathlib.Path
) -> None:
    for name in ("etcd", "kube-apiserver"):
        install(folder, name, VERSIONED)
    code, complaint = failing("cluster", "up", "--cluster", "local")
    assert code == 1, complaint
    assert "expected etcd to start, but it ended with exit code 1" in complaint
