"""Run directories: made once, told by their plan, and linked as the latest."""

import pathlib
import threading

import pytest

from harness import errors
from harness.history import directories
from tests.histories import building


def test_a_new_directory_is_empty_but_for_its_logs(tmp_path: pathlib.Path) -> None:
    directory = directories.create(tmp_path / "deep" / "down")
    assert [path.name for path in directory.path.iterdir()] == ["logs"]


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


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_no_run_directory_is_refused(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "something"
    path.mkdir() if kind == "folder" else path.touch()
    with pytest.raises(errors.RunDirectoryError):
        directories.existing(path)


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


def test_every_path_is_another_one_within_the_directory(tmp_path: pathlib.Path) -> None:
    directory = directories.RunDirectory(tmp_path)
    names = [
        name
        for name, value in vars(directories.RunDirectory).items()
        if isinstance(value, property | directories._File)
    ]
    paths = [getattr(directory, name) for name in names]
    paths += [method("x") for method in (directory.operations, directory.steps, directory.log)]
    assert len(set(paths)) == len(paths) > 10
    assert all(path.is_relative_to(tmp_path) for path in paths)


# ---------------------------------------------------------------------------- the latest one


def test_latest_means_the_newest(tmp_path: pathlib.Path) -> None:
    for name in ("first", "second"):
        directories.link_latest(tmp_path, directories.create(tmp_path / "scenario" / name))
    assert (tmp_path / "latest").resolve() == tmp_path / "scenario" / "second"
    assert not (tmp_path / "latest").readlink().is_absolute()


def test_a_directory_elsewhere_is_not_linked(tmp_path: pathlib.Path) -> None:
    directory = directories.create(tmp_path / "elsewhere" / "run")
    (tmp_path / "reports").mkdir()
    directories.link_latest(tmp_path / "reports", directory)
    assert list((tmp_path / "reports").iterdir()) == []


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
