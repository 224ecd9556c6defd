"""One rule over all providers: 2 for what was asked for and cannot be used, 1 for a cluster that
failed although everything was there.
"""

import json
import os
import pathlib
import socket
from collections.abc import Callable

import pytest

from tests.support.called_commands import FlakeHunt

Failing = Callable[..., tuple[int, str]]
VERSIONED = (
    '#!/bin/sh\n[ "$1" = --version ] && echo "Version: v3.6.0" && exit 0\necho broken >&2\nexit 1\n'
)
KIND = "#!/bin/sh\necho kind v0.33.0 go1.25.5 linux/amd64\n"
DOCKER = {"docker": "#!/bin/sh\nexit 0\n"}
DEAD_SERVER = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
}
TAKEN = "expected port PORT of 127.0.0.1 to be free (address already in use)"
UNUSABLE: list[tuple[str, dict[str, str], str]] = [
    ("port=PORT", {}, TAKEN),
    ("tls_port=PORT", {}, TAKEN),
    ("local binaries=FOLDER", {}, "expected the binary etcd in"),
    ("kind", {}, "found no docker"),
    ("kind", DOCKER, "found no kind"),
    ("kind", DOCKER | {"kind": KIND.replace("0.33", "0.9")}, "kind v0.9.0"),
    ("kind", DOCKER | {"kind": KIND}, "or name another engine in DOCKER_HOST"),
    ("kubeconfig kubeconfig=FOLDER/nothing", {}, "FOLDER/nothing"),
    ("kubeconfig kubeconfig=FOLDER/config", {}, "Is the cluster up"),
]
"""Options of --cluster, the programs on PATH, and what is said."""


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


@pytest.mark.parametrize("command", ["run pod-churn", "cluster up", "hunt pod-churn"])
@pytest.mark.parametrize(("cluster", "programs", "words"), UNUSABLE)
def test_what_cannot_be_used(
    failing: Failing,
    folder: pathlib.Path,
    command: str,
    cluster: str,
    programs: dict[str, str],
    words: str,
) -> None:
    for name, text in programs.items():
        install(folder, name, text)
    (folder / "config").write_text(json.dumps(DEAD_SERVER))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        places = {"PORT": str(taken.getsockname()[1]), "FOLDER": str(folder)}
        for word, place in places.items():
            cluster, words = cluster.replace(word, place), words.replace(word, place)
        options = [f"--cluster={word}" for word in cluster.split()]
        code, complaint = failing(*command.split(), *options)
    assert (code, words in complaint) == (2, True), complaint


def test_a_cluster_that_fails_although_everything_is_there(
    failing: Failing, folder: pathlib.Path
) -> None:
    for name in ("etcd", "kube-apiserver"):
        install(folder, name, VERSIONED)
    code, complaint = failing("cluster", "up", "--cluster", "local")
    assert code == 1, complaint
    assert "expected etcd to start, but it ended with exit code 1" in complaint
