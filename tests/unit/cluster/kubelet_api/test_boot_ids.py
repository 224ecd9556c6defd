"""A boot id of its own for one program."""

import pathlib
import subprocess

import pytest

from harness.cluster.kubelet_api import boot_ids

KERNEL = pathlib.Path("/proc/sys/kernel/random/boot_id")
READ = ["cat", str(KERNEL)]


@pytest.mark.skipif(not boot_ids.can_be_given(), reason="only root can bind a file")
def test_a_program_sees_the_boot_id_of_the_file_alone(tmp_path: pathlib.Path) -> None:
    kernels = KERNEL.read_text()
    file = tmp_path / "boot_id"
    seen = []
    for _ in range(2):
        given = boot_ids.renew(file)
        command = boot_ids.seen_by(READ, file)
        seen.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert seen[-1] == f"{given}\n"
    assert len({kernels, *seen}) == 3
    assert KERNEL.read_text() == kernels


def test_a_program_runs_all_the_same_where_none_can_be_given(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot_ids, "can_be_given", lambda: False)
    assert boot_ids.seen_by(READ, tmp_path / "boot_id") == READ
