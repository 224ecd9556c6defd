"""Another program is asked for its version: it may not answer, or do anything else instead."""

import pathlib

import psutil
import pytest

from harness.run.programs import program_versions

ANSWERS = {
    "echo own-scheduler v1.2.3-rc.1 '(abc)'": "v1.2.3-rc.1",
    "echo Kubernetes v1.36.2": "v1.36.2",
    "echo 0.9 >&2": "0.9",
    "echo usage; exit 2": "",
    "echo own 1.2.3; exit 1": "",
    "echo none": "",
    "echo; echo starting 127.0.0.1": "",
    "true": "",
    "read line && echo 1.2.3": "",
    "echo 1.2.3; exec sleep 1000": "",
    "exec yes 1.2.3": "",
    'echo "$KUBECONFIG$KUBERNETES_SERVICE_HOST"': "",
    "kill -9 $$": "",
    'test "$1" = --version && echo 4.5.6': "4.5.6",
}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    program_versions.said.cache_clear()
    monkeypatch.setattr(program_versions, "TIMEOUT_S", 0.5)
    monkeypatch.setenv("KUBECONFIG", "/etc/9.9.9")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "9.9.9")


@pytest.mark.parametrize(("script", "version"), ANSWERS.items())
def test_the_version_of_a_program(tmp_path: pathlib.Path, script: str, version: str) -> None:
    program = tmp_path / "own"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    assert program_versions.of_command([str(program), "--now", "{kubeconfig}"]) == version


def test_a_program_of_an_interpreter(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "own.sh"
    program.write_text("echo $0 3.2.1\n")
    assert program_versions.of_command(["sh", str(program), "{kubeconfig}"]) == "3.2.1"


def test_nothing_is_left_behind(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "own"
    program.write_text("#!/bin/sh\nsleep 1000 &\necho $! > %s\nwait\n" % (tmp_path / "pid"))
    program.chmod(0o755)
    assert program_versions.of_command([str(program)]) == ""
    pid = int((tmp_path / "pid").read_text())
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_program_that_is_missing_has_no_version() -> None:
    assert program_versions.of_command(["/no/such/program"]) == ""
