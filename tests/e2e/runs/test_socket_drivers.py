"""Whole runs whose drivers are processes behind sockets: killed, foreign, late and interrupted."""

import pathlib
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence

import pytest

from harness.history import directories, journal_reader, records
from tests.e2e import running

pytestmark = pytest.mark.e2e
DRIVER = (
    "-m",
    "harness.cli.main",
    "part",
    "driver",
    "--kubeconfig",
    "{kubeconfig}",
    "--node",
    "{node}",
)
FOLDERS = (
    *("--set", "plugins_dir={plugins_dir}", "--set", "registry_dir={registry_dir}"),
    *("--set", "cdi_dir={cdi_dir}", "--state", "{state_dir}"),
)
OWN = f"command={sys.executable} {' '.join((*DRIVER, *FOLDERS))}"
KILLS = """
[limits]
progress_s = 20
[[faults]]
kind = "kill-process"
name = "{role}-killed"
role = "{role}"
start_s = 0.5
"""


@pytest.fixture
def sockets() -> Iterator[pathlib.Path]:
    """The folder for temporary folders, which has to be empty in the end."""
    with tempfile.TemporaryDirectory(prefix="t-") as path:
        yield pathlib.Path(path)
        assert list(pathlib.Path(path).glob("fh-*")) == []


def run(folder: pathlib.Path, sockets: pathlib.Path, *options: str) -> tuple[int, str]:
    path = folder / "small.toml"
    if not path.exists():
        running.scenario(folder)
    arguments = ("run", str(path), *options, "--seed", "7")
    with running.started(folder, *arguments, env={"TMPDIR": str(sockets)}) as command:
        code = command.wait()
        command.require_alone()
        return code, command.text()


def ends(folder: pathlib.Path) -> Sequence[tuple[str, bool]]:
    directory = directories.RunDirectory(running.run_directory(folder))
    found = journal_reader.read(directory.processes).records
    return [(r.process, r.expected) for r in found if isinstance(r, records.ProcessEnded)]


def prepared(folder: pathlib.Path) -> int:
    directory = directories.RunDirectory(running.run_directory(folder))
    found = journal_reader.read(directory.preparations("kubelet")).records
    assert any(isinstance(record, records.ContainerStarted) for record in found)
    return sum(isinstance(record, records.Prepared) for record in found)


def test_the_test_driver_behind_sockets(tmp_path: pathlib.Path, sockets: pathlib.Path) -> None:
    code, text = run(tmp_path, sockets, "--set", "subject.driver=socket")
    assert code == 0, text
    assert ("driver", True) in ends(tmp_path)
    assert prepared(tmp_path) >= 20


def test_any_program_with_a_process_for_each_node(
    tmp_path: pathlib.Path, sockets: pathlib.Path
) -> None:
    code, text = run(tmp_path, sockets, "--set", f"subject.driver={OWN}")
    assert code == 0, text
    assert {("driver", True), ("driver-2", True)} <= set(ends(tmp_path))
    assert prepared(tmp_path) >= 20


def test_drivers_and_kubelets_that_are_killed_find_each_other_again(
    tmp_path: pathlib.Path, sockets: pathlib.Path
) -> None:
    path = running.scenario(tmp_path)
    faults = "".join(KILLS.format(role=role) for role in ("driver", "kubelet"))
    faults = faults.replace("\n[limits]\nprogress_s = 20", "", 1)
    text = path.read_text().replace("duration_s = 0.3", "duration_s = 3.0")
    path.write_text(text + faults)
    code, output = run(tmp_path, sockets, "--set", "subject.driver=socket")
    assert code == 0, output
    assert {("driver.2", True), ("kubelet.2", True)} <= set(ends(tmp_path))


def test_a_defect_of_the_driver_is_found_through_sockets(
    tmp_path: pathlib.Path, sockets: pathlib.Path
) -> None:
    path = running.scenario(tmp_path)
    shared = path.read_text().replace('"churn"', '"shared"\npods_per_claim = 2')
    path.write_text(shared + '\n[claim]\nparameters = { claim = "{claim}" }\n')
    chosen = ("--set", "subject.driver=socket", "--defect", "driver-stale-parameters")
    code, output = run(tmp_path, sockets, *chosen)
    assert code == 10, output
    assert "container_parameters" in output


def test_a_program_that_never_registers_is_told_in_one_sentence(
    tmp_path: pathlib.Path, sockets: pathlib.Path
) -> None:
    code, output = run(tmp_path, sockets, "--set", "subject.driver=command=sleep 600")
    assert code == 2, output
    said = output.splitlines()[-1]
    assert said.startswith("flake-hunt: expected driver gpu.flake-hunt.example to register on node")
    assert "Traceback" not in output


def test_an_interrupted_run_leaves_no_sockets(
    tmp_path: pathlib.Path, sockets: pathlib.Path
) -> None:
    path = running.scenario(tmp_path)
    path.write_text(path.read_text().replace("duration_s = 0.3", "duration_s = 20.0"))
    arguments = ("run", str(path), "--set", "subject.driver=socket")
    with running.started(tmp_path, *arguments, env={"TMPDIR": str(sockets)}) as command:
        command.wait_for_text("starting the load")
        command.process.send_signal(signal.SIGINT)
        assert command.wait() == 130
        command.require_alone()
