"""Run directories: made once, told by their plan, and linked as the latest."""

import pathlib
import threading

import pytest

from harness import errors
from harness.history import directories
from tests.histories import building


def test_a_directory_is_not_made_twice(tmp_path: pathlib.Path) -> None:
    directories.create(tmp_path / "run")
    with pytest.raises(errors.RunDirectoryError, match="exists already: name another one"):
        directories.create(tmp_path / "run")


def test_a_directory_that_cannot_be_made_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.UnwritableError, match=r"cannot write .*file/run: not a directory"):
        directories.create(tmp_path / "file" / "run")


def test_a_directory_that_is_not_there_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.RunDirectoryError, match=r"but .*/nowhere does not exist"):
        directories.existing(tmp_path / "nowhere")


def test_a_folder_of_runs_is_refused_with_advice(tmp_path: pathlib.Path) -> None:
    building.build(tmp_path / "reports" / "run", "a+D1")
    with pytest.raises(
        errors.RunDirectoryError, match=r"has no plan\.json: name the folder of one"
    ):
        directories.existing(tmp_path / "reports")


def test_files_are_found_by_their_processes_and_sorted(tmp_path: pathlib.Path) -> None:
    directory = directories.create(tmp_path / "run")
    for name in ("traffic-1", "kubelet", "traffic-0"):
        directory.operations(name).touch()
        directory.steps(name).touch()
    (directory.path / "operations-x.txt").touch()
    names = ["kubelet", "traffic-0", "traffic-1"]
    assert directory.all_operations() == [directory.operations(name) for name in names]
    assert directory.all_steps() == [directory.steps(name) for name in names]


# ---------------------------------------------------------------------------- the latest one


def test_latest_means_the_newest(tmp_path: pathlib.Path) -> None:
    for name in ("first", "second"):
        directories.link_latest(tmp_path, directories.create(tmp_path / "scenario" / name))
    assert (tmp_path / "latest").resolve() == tmp_path / "scenario" / "second"
    assert not (tmp_path / "latest").readlink().is_absolute()


def test_many_may_link_at_once(tmp_path: pathlib.Path) -> None:
    made = [directories.create(tmp_path / f"run-{n}") for n in range(8)]
    together = threading.Barrier(len(made))

    def link(directory: directories.RunDirectory) -> None:
        together.wait(30)
        for _ in range(20):
            directories.link_latest(tmp_path, directory)

    threads = [threading.Thread(target=link, args=(directory,)) for directory in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (tmp_path / "latest").resolve() in {directory.path for directory in made}
    assert not list(tmp_path.glob(".latest-*"))
