"""flake-hunt doctor: what it looks at, what it says, and its exit code."""

import os
import pathlib
import subprocess
import sys


def install(folder: pathlib.Path, **versions: str) -> None:
    folder.mkdir()
    for name, said in versions.items():
        path = folder / name.replace("_", "-")
        path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{said}"\n')
        path.chmod(0o755)


def test_the_command_with_a_folder_of_binaries(tmp_path: pathlib.Path) -> None:
    said = {"etcd": "etcd Version: 3.6.0", "kube_apiserver": "Kubernetes v1.33.9"}
    install(tmp_path / "old", **said)
    old = doctor(tmp_path, "local", binaries=f"{tmp_path}/old")
    assert old.returncode == 1
    assert "v1.34.0 or newer, got v1.33.9" in " ".join(old.stdout.split())
    binaries = f"{tmp_path}/binaries"
    install(tmp_path / "binaries", **{**said, "kube_apiserver": "Kubernetes v1.36.2"})
    ready = doctor(tmp_path, "local", binaries=binaries)
    assert (ready.returncode, ready.stdout.splitlines()[-1]) == (0, "Ready: local.")
    assert (
        doctor(tmp_path, binaries=binaries).stdout.splitlines()[-1].startswith("Ready: embedded, ")
    )


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
    unknown = doctor(tmp_path, "cloud")
    assert unknown.returncode == 2
    assert "embedded, local, kind, kubeconfig, got 'cloud'" in " ".join(unknown.stderr.split())
