"""A run directory read as a whole: of one run and one boot, or not at all."""

import pathlib

import pytest

from harness.history import directories, histories, journal_reader
from tests.histories import building, damages, language

TEXT = "a+D1 p* a~"


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return building.build(tmp_path / "run", TEXT)


def test_everything_is_there(directory: directories.RunDirectory) -> None:
    history = histories.load(directory.path)
    assert history.plan == building.plan()
    assert list(history.observations() or ()) == language.observe(TEXT)
    assert len(list(history.operations(building.TRAFFIC) or ())) == 6
    assert list(history.steps(building.SCHEDULER) or ["none"]) == []
    assert [phase.name for phase in history.phases] == ["starting", "load", "ended"]


@pytest.mark.parametrize("file", damages.FILES, ids=lambda file: file.__name__)
def test_a_file_of_another_run_is_refused(
    directory: directories.RunDirectory, file: damages.File
) -> None:
    damages.of_another_run(file)(directory)
    assert _damages(directory) == [
        f"{file(directory).name}: expected a file of run f00dfeed (plan.json), got one of run another"
    ]


def test_a_file_nobody_expected_is_refused_all_the_same(
    directory: directories.RunDirectory,
) -> None:
    building.write(directory.operations("stranger"), [], process="stranger", run_id="another")
    [damage] = _damages(directory)
    assert damage.startswith("operations-stranger.jsonl: expected a file of run f00dfeed")


@pytest.mark.parametrize("file", damages.FILES, ids=lambda file: file.__name__)
def test_a_file_of_another_boot_is_refused(
    directory: directories.RunDirectory, file: damages.File
) -> None:
    path = file(directory)
    header = journal_reader.read(path).header
    assert header is not None
    boot = f'"boot_id":"{header.boot_id}"'.encode()
    path.write_bytes(path.read_bytes().replace(boot, b'"boot_id":"another"'))
    [damage] = _damages(directory)
    assert damage.startswith(f"{path.name}: written on another boot of the host")


@pytest.mark.parametrize("content", [b"", b'{"record":"head'], ids=["empty", "torn"])
def test_a_file_without_one_whole_line_is_as_good_as_missing(
    directory: directories.RunDirectory, content: bytes
) -> None:
    directory.steps(building.SCHEDULER).write_bytes(content)
    history = histories.load(directory.path)
    assert list(history.steps(building.SCHEDULER) or ["none"]) == []


def _damages(directory: directories.RunDirectory) -> list[str]:
    return histories.load(directory.path).damages()
