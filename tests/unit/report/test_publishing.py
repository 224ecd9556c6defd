"""Verdict, pages and evidence never contradict each other: not after evidence changed, not after an
interruption, not on a bad disk.
"""

import errno
import os
import pathlib
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from harness import errors, writing
from harness.checks import judging, verdict_files
from harness.history import directories
from harness.report import publishing
from tests.histories import building, damages
from tests.support import schemas

VALID = "a+D1 a^p p* a~ b+D2 b^q q* c+D1"


def _publish(directory: directories.RunDirectory) -> None:
    publishing.publish(judging.examine(directory))


def _said(directory: directories.RunDirectory) -> set[str]:
    """Every verdict that is to be read in the folder."""
    said = set()
    if directory.verdict.exists():
        said.add(schemas.obeying("verdict", directory.verdict.read_bytes())["verdict"])
    if directory.report.exists():
        said |= set(re.findall(r"<title>(\w+):", directory.report.read_text()))
    if directory.junit.exists():
        [verdict] = ET.fromstring(directory.junit.read_bytes()).iterfind(
            "properties/property[@name='verdict']"
        )
        said.add(str(verdict.get("value")))
    return said


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    made = building.build(tmp_path / "run", VALID)
    _publish(made)
    return made


@pytest.mark.parametrize("file", damages.FILES, ids=lambda file: file.__name__)
def test_what_is_judged_again_is_drawn_again(
    directory: directories.RunDirectory, file: damages.File
) -> None:
    assert _said(directory) == {"VALID"}
    damages.no_trailer(file)(directory)
    _publish(directory)
    assert _said(directory) == {"UNKNOWN"}
    assert all(page.is_file() for page in directory.pages())


# ---------------------------------------------------------------------------- a foreign verdict


def test_judging_again_mends_a_verdict(directory: directories.RunDirectory) -> None:
    directory.verdict.write_bytes(b'{"schema":2,"x":' + b"[" * 100_000)
    with pytest.raises(errors.VerdictError, match="expected the verdict of a run"):
        verdict_files.read(directory)
    _publish(directory)
    verdict_files.require_own(directory, judging.judge(directory))
    assert len(_said(directory)) == 1


def test_a_link_is_replaced_and_not_followed(directory: directories.RunDirectory) -> None:
    own = directory.path.parent / "own-file"
    own.write_text("mine")
    for path in (directory.verdict, *directory.pages()):
        path.unlink()
        path.symlink_to(own)
    _publish(directory)
    assert own.read_text() == "mine"
    assert not directory.verdict.is_symlink()
    assert _said(directory) == {"VALID"}


# ---------------------------------------------------------------------- interruptions, bad disks


def _moments(directory: directories.RunDirectory, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many changes of the folder publishing makes."""
    with monkeypatch.context() as patch:
        seen = _failing(patch, at=-1, error=OSError())
        _publish(directory)
    return len(seen)


def _failing(patch: pytest.MonkeyPatch, *, at: int, error: BaseException) -> list[str]:
    """Let the change with this number fail; returns the list of those that were tried."""
    seen: list[str] = []

    def counting(real: Callable[..., object]) -> Callable[..., object]:
        def change(path: str, *arguments: object) -> object:
            seen.append(f"{real.__name__} {path}")
            if len(seen) - 1 == at:
                raise error
            return real(path, *arguments)

        return change

    patch.setattr(os, "unlink", counting(os.unlink))
    patch.setattr(os, "replace", counting(os.replace))
    patch.setattr(writing, "_put", counting(writing._put))
    return seen


ERRORS = {
    "interrupted": KeyboardInterrupt(),
    "full": OSError(errno.ENOSPC, "No space left on device"),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_at_no_moment_a_page_contradicts_the_verdict(
    directory: directories.RunDirectory,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
) -> None:
    moments = _moments(directory, monkeypatch)
    assert moments == 11  # three pages removed, four files written and renamed
    for at in range(moments):
        copied = shutil.copytree(directory.path, directory.path.with_name(f"copy-{at}"))
        again = directories.RunDirectory(copied)
        damages.no_trailer(damages.steps)(again)
        with monkeypatch.context() as patch:
            _failing(patch, at=at, error=error)
            with pytest.raises((errors.StorageError, KeyboardInterrupt)):
                _publish(again)
        assert len(_said(again)) <= 1, (at, _said(again))
        assert not list(copied.glob(".*"))


def test_a_folder_that_cannot_be_changed_stays_as_it_was(
    directory: directories.RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in directory.path.glob("*.*")}
    _failing(monkeypatch, at=0, error=OSError(errno.EROFS, "Read-only file system"))
    with pytest.raises(errors.UnwritableError) as caught:
        _publish(directory)
    assert "report.html: read-only file system" in str(caught.value)
    assert caught.value.exit_code == 2
    assert {path.name: path.read_bytes() for path in directory.path.glob("*.*")} == before
