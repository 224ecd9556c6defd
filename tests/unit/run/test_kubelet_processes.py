"""The kubelet processes of a run: one, or another one for a node that faults may lose."""

import itertools
import json
import pathlib
import shutil
import subprocess
import types
from typing import Any

import pytest

from harness.cluster.kubelet_api import boot_ids
from harness.history import directories
from harness.run import run_plan, run_processes
from harness.scenario import loading

LOST = "{kind='lose-node'}"


class Supervisor:
    def __init__(self) -> None:
        self.started: dict[str, list[str]] = {}
        self.on_lease_lost: Any = None

    def start_part(self, name: str, *arguments: object, **_more: object) -> None:
        self.started[name] = list(map(str, arguments))

    def start_foreign(self, name: str, argv: list[str], **_more: object) -> None:
        self.started[name] = argv

    def wait_ready(self, *names: str) -> None:
        assert set(names) <= set(self.started)

    def incarnations(self, name: str) -> list[str]:
        return [item for item in self.started if item.partition(".")[0] == name]


def start(
    folder: pathlib.Path,
    *,
    fault: str = "",
    defects: tuple[str, ...] = (),
    driver: str = "in-process",
) -> Any:
    chosen = ("pools.nodes=3", f"subject.driver={json.dumps(driver)}", f"faults=[{fault}]")
    plan = run_plan.plan(loading.load("pod-churn", overrides=chosen), seed=1, defects=defects)
    directory = directories.create(folder / "run")
    supervisor: Any = Supervisor()
    place = folder / "kubeconfig"
    cluster: Any = types.SimpleNamespace(kubeconfig=place, user_kubeconfig=place)
    made = run_processes.RunProcesses(
        supervisor, plan, run_plan.scenario_of(plan), directory, cluster, protobuf=False
    )
    made.start_observers()
    return made, supervisor.started, plan


def options(arguments: list[str], name: str) -> list[str]:
    if name.startswith("--"):
        return [value for key, value in itertools.pairwise(arguments) if key == name]
    settings = [word.partition("=") for word in options(arguments, "--set")]
    return [value for key, _, value in settings if key == name]


def test_the_lost_node_has_a_process_of_its_own(tmp_path: pathlib.Path) -> None:
    made, started, plan = start(tmp_path, fault=LOST)
    assert plan.expected_preparations == ["kubelet", "kubelet-2"]
    assert made.lost_node == "worker-2"
    assert options(started["kubelet"], "--node") == ["worker-0", "worker-1"]
    assert options(started["kubelet-2"], "--node") == ["worker-2"]
    assert made.start_again("kubelet-2") == "kubelet-2.2"
    again = started["kubelet-2.2"]
    assert options(again, "--node") == ["worker-2"]
    assert options(again, "--state") == options(started["kubelet-2"], "--state")
    assert options(again, "preparations") != options(started["kubelet-2"], "preparations")
    assert options(again, "--state") != options(started["kubelet"], "--state")


@pytest.mark.parametrize("defect", ["kubelet-forgets-claims", "gather-not-atomic"])
def test_each_part_gets_its_own_defects(tmp_path: pathlib.Path, defect: str) -> None:
    made, started, _ = start(tmp_path, defects=(defect,))
    made.start_subject()
    of_kubelet = [defect] if defect.startswith("kubelet") else []
    assert options(started["kubelet"], "--defect") == of_kubelet
    assert options(started["scheduler"], "--defect") == [defect][len(of_kubelet) :]
    assert options(started["claim-controller"], "--defect") == []


def test_a_driver_behind_sockets_is_a_process_of_the_run(tmp_path: pathlib.Path) -> None:
    fault = "{kind='kill-process', role='driver'}"
    made, started, plan = start(
        tmp_path, driver="socket", fault=fault, defects=("driver-released-first",)
    )
    assert plan.expected_processes[3:4] == ["driver"]
    assert [fault.clients for fault in plan.faults] == [["driver"]]
    driver, kubelet = started["driver"], started["kubelet"]
    assert options(driver, "--node") == [f"worker-{index}" for index in range(3)]
    assert options(driver, "--driver-name") == ["gpu.flake-hunt.example"]
    assert options(driver, "--defect") == ["driver-released-first"]
    assert options(kubelet, "--defect") == []
    assert options(kubelet, "--plugins-registry") == options(driver, "registry_dir")
    assert options(kubelet, "cdi_dir") == options(driver, "cdi_dir")
    assert options(kubelet, "wait_for_driver") == ["gpu.flake-hunt.example"]
    assert made.start_again("driver") == "driver.2"
    assert started["driver.2"][1:] == [
        word.replace("driver-settings", "driver.2-settings") for word in driver[1:]
    ]
    made.start_again("kubelet")
    assert options(started["kubelet.2"], "wait_for_driver") == []
    sockets = pathlib.Path(options(kubelet, "--plugins-registry")[0]).parent.parent
    assert sockets.is_dir()
    made.close()
    assert not sockets.exists()


def test_a_program_of_others_is_started_for_each_node(tmp_path: pathlib.Path) -> None:
    command = "command=true --node {node} --registry {registry_dir} --cdi {cdi_dir} {kubeconfig}"
    made, started, plan = start(tmp_path, driver=command)
    names = ["driver", "driver-2", "driver-3"]
    assert [name for name in plan.expected_processes if name.startswith("driver")] == names
    for index, name in enumerate(names):
        assert options(started[name], "--node") == [f"worker-{index}"]
        assert pathlib.Path(options(started[name], "--registry")[0]).is_dir()
        assert started[name][-1] == str((tmp_path / "kubeconfig").resolve())
    template = options(started["kubelet"], "cdi_dir")[0]
    assert template.replace("{node}", "worker-1") == options(started["driver-2"], "--cdi")[0]
    made.close()


KERNEL = pathlib.Path("/proc/sys/kernel/random/boot_id")


@pytest.mark.skipif(not boot_ids.can_be_given(), reason="only root can bind a file")
def test_a_reboot_of_a_node_shows_in_the_boot_id_that_its_driver_sees(
    tmp_path: pathlib.Path,
) -> None:
    made, started, _ = start(tmp_path, driver=f"command=sh -c 'cat {KERNEL}' {{node}}")

    def seen(name: str) -> str:
        done = subprocess.run(started[name], capture_output=True, text=True, check=True)
        return done.stdout

    first = seen("driver-3")
    assert first != KERNEL.read_text()
    assert seen(made.start_again("driver-3")) == first, "it was restarted, and its node was not"
    shutil.rmtree(made.cdi_of_lost_node)
    assert seen(made.start_again("driver-3")) not in (first, KERNEL.read_text())
    made.close()


@pytest.mark.parametrize(
    ("driver", "names"), [("socket", ["driver", "driver-2"]), ("in-process", [])]
)
def test_the_driver_of_a_node_that_is_rebooted_is_a_process_of_its_own(
    tmp_path: pathlib.Path, driver: str, names: list[str]
) -> None:
    fault = "{kind='reboot-node'}"
    made, started, plan = start(tmp_path, driver=driver, fault=fault)
    assert [name for name in plan.expected_processes if name.startswith("driver")] == names
    assert made.drivers_of_lost_node == names[1:]
    assert [options(started[name], "--node") for name in names[1:]] == [["worker-2"]] * bool(names)
    assert (made.cdi_of_lost_node is not None) is bool(names)
    made.close()
