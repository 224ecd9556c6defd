"""A node is rebooted: its kubelet is killed, its CDI folder is emptied, and it boots again."""

import pathlib
import random
from typing import Any

from harness import concurrency
from harness.run.faulting import fault_journal, node_reboots
from tests.unit.run.faulting import fake_parts


class Ending:
    """A fault that lasts until its work is done."""

    def __init__(self, *, is_abandoned: bool = False) -> None:
        self.over, self.load_begun = concurrency.Event("over"), concurrency.Event("begun")
        self.is_abandoned = is_abandoned


def reboot(folder: pathlib.Path, ending: Ending) -> tuple[Any, fake_parts.FakeProcesses]:
    processes = fake_parts.FakeProcesses()
    fault = fake_parts.fault("boot", "reboot-node", down_s=0.0, times=2, interval_s=0.01)
    journal = fault_journal.FaultJournal(folder / "faults.jsonl", run_id="r")
    rebooting = node_reboots.RebootedNode(
        fault,
        journal,
        processes,
        concurrency.lock("guard"),
        node="worker-1",
        state=folder / "kubelet-2",
        boot_ids=random.Random(1),
    )
    rebooting.begin()
    rebooting.last(ending)
    rebooting.heal(ending)
    journal.close()
    applied, _ = fake_parts.read(folder / "faults.jsonl")
    return applied, processes


def cdi_files(folder: pathlib.Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("kubelet-2/cdi/*/*"))


def test_a_reboot_empties_the_cdi_folder_of_the_node_alone(tmp_path: pathlib.Path) -> None:
    for path in ("cdi/worker-1/a.json", "cdi/worker-0/b.json", "checkpoints/worker-1.json"):
        (tmp_path / "kubelet-2" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kubelet-2" / path).touch()
    applied, processes = reboot(tmp_path, Ending())
    assert cdi_files(tmp_path) == ["worker-0"]
    assert (tmp_path / "kubelet-2/checkpoints/worker-1.json").exists()
    assert processes.calls == ["kill scheduler for boot", "start scheduler"] * 2
    assert [item.detail for item in applied] == ["worker-1 was rebooted"] * 2
    assert len((tmp_path / "kubelet-2/boots/worker-1").read_text()) == 36


def test_a_run_that_ends_at_once_starts_nothing_again(tmp_path: pathlib.Path) -> None:
    _, processes = reboot(tmp_path, Ending(is_abandoned=True))
    assert "start scheduler" not in processes.calls
