"""flake-hunt doctor: what it looks at, what it says, and its exit code."""

import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from harness import errors
from harness.cluster import doctor as doctors
from tests.stand_ins import standing_in
from tests.support import cases

GOOD = {"MemTotal": 8 << 30}


def use(
    engine: standing_in.StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    for name, value in engine.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def findings(provider: str) -> dict[str, doctors.Finding]:
    return {item.part: item for item in doctors.examine(provider)}


def examined(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, **description: Any
) -> dict[str, doctors.Finding]:
    with standing_in.started(tmp_path / "engine", describe={**GOOD, **description}) as engine:
        use(engine, monkeypatch, tmp_path)
        return findings("kind")


def test_a_machine_that_has_everything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    found = examined(monkeypatch, tmp_path)
    for part in ("kind", "engine's memory", "left by earlier runs"):
        assert found[part].state is doctors.State.OK, found[part]
        assert not found[part].remedy
    assert found["left by earlier runs"].seen == "nothing"


@pytest.mark.parametrize(
    ("description", "part", "state", "remedy"), cases.read(__file__, "lacking")
)
def test_an_engine_that_lacks_something(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
    description: dict[str, Any],
    part: str,
    state: str,
    remedy: str,
) -> None:
    found = examined(monkeypatch, tmp_path, **description)[part]
    assert found.state == state
    assert remedy in found.remedy


def test_what_earlier_runs_left(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    with standing_in.started(tmp_path / "engine") as engine:
        use(engine, monkeypatch, tmp_path)
        client = engine.client()
        for name in ("fh-old", "kind"):
            labels = {"io.x-k8s.kind.cluster": name}
            client.api.create_container("kindest/node:v1.36.0", name=name, labels=labels)
        client.close()
        found = findings("kind")["left by earlier runs"]
    assert found.seen == "fh-old", "what others made with kind is none of our business"
    assert found.remedy == "flake-hunt cluster prune 0"


def test_no_engine_and_no_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = findings("kind")["kind"]
    assert found.state is doctors.State.MISSING
    assert "in PATH, found no docker: install it" in found.remedy


@pytest.mark.skipif(os.getuid() == 0, reason="root may open every socket")
def test_an_engine_that_lets_nobody_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    with standing_in.started(tmp_path / "engine") as engine:
        use(engine, monkeypatch, tmp_path)
        pathlib.Path(engine.host.removeprefix("unix://")).chmod(0)
        assert "usermod -aG docker" in findings("kind")["kind"].remedy


def test_embedded_needs_nothing_that_is_not_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert not [item for item in doctors.examine("embedded") if item.state == "missing"]


ETCD = '#!/bin/sh\n[ "$1" = --version ] && echo "etcd Version: 3.6.0"\n'
KUBERNETES = '#!/bin/sh\n[ "$1" = --version ] && echo "Kubernetes v{}"\n'


def install(folder: pathlib.Path, **texts: str) -> None:
    folder.mkdir()
    for name, text in texts.items():
        path = folder / name.replace("_", "-")
        path.write_text(text)
        path.chmod(0o755)


def test_the_binaries_of_a_folder(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "binaries"
    install(folder, etcd=ETCD, kube_apiserver=KUBERNETES.format("1.33.9"))
    found = {item.part: item for item in doctors.examine("local", folder=str(folder))}
    assert found["etcd"].seen == f"v3.6.0 ({folder}/etcd)"
    assert found["kube-apiserver"].state is doctors.State.MISSING
    assert "v1.34.0 or newer, got v1.33.9" in found["kube-apiserver"].remedy
    optional = found["kube-scheduler (optional)"]
    assert optional.state is doctors.State.WARNING
    assert f"expected the binary kube-scheduler in {folder}" in optional.remedy


def test_the_command_with_a_folder_of_binaries(tmp_path: pathlib.Path) -> None:
    install(tmp_path / "binaries", etcd=ETCD, kube_apiserver=KUBERNETES.format("1.36.2"))
    assert doctor(tmp_path, "local").returncode == 1
    binaries = f"{tmp_path}/binaries"
    ready = doctor(tmp_path, "local", binaries=binaries)
    assert (ready.returncode, ready.stdout.splitlines()[-1]) == (0, "Ready: local.")
    assert "v1.36.2" in ready.stdout
    assert (
        doctor(tmp_path, binaries=binaries).stdout.splitlines()[-1].startswith("Ready: embedded, ")
    )


def test_an_unknown_provider() -> None:
    with pytest.raises(errors.UsageError, match=r"embedded, local, kind, kubeconfig, got 'cloud'"):
        doctors.examine("cloud")


def doctor(
    tmp_path: pathlib.Path, *arguments: str, binaries: str = ""
) -> "subprocess.CompletedProcess[str]":
    bare = {
        "HOME": str(tmp_path),
        "DOCKER_HOST": f"unix://{tmp_path}/no.sock",
        "PATH": str(tmp_path),
        "KUBE_BINARIES": binaries,
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    return subprocess.run(
        [sys.executable, "-m", "harness.cli.main", "doctor", *arguments],
        env=bare,
        cwd=pathlib.Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_on_a_machine_without_anything(tmp_path: pathlib.Path) -> None:
    every = doctor(tmp_path)
    assert every.returncode == 0
    words = " ".join(every.stdout.split())
    assert "found no docker: install it" in words
    assert "export KUBECONFIG=FILE" in words
    last = every.stdout.splitlines()[-1]
    assert last == "Ready: embedded. Not ready: kind, kubeconfig, local."
    ready = doctor(tmp_path, "embedded")
    assert (ready.returncode, ready.stdout.splitlines()[-1]) == (0, "Ready: embedded.")
    assert doctor(tmp_path, "kind").returncode == 1
    assert doctor(tmp_path, "cloud").returncode == 2
