"""Output whose reader leaves, as in `flake-hunt check … | head -1`."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.histories import archives

TIMEOUT_S = 60


def without_reader(*arguments: str, with_errors: bool = False) -> tuple[int, bytes]:
    """Exit code and standard error of a command whose output has no reader."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "harness.cli.main", *arguments],
        stdout=writing,
        stderr=writing if with_errors else subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=False,
    )
    os.close(writing)
    return ended.returncode, ended.stderr or b""


@pytest.mark.parametrize("with_errors", [False, True])
def test_the_exit_code_is_that_of_the_verdict(tmp_path: pathlib.Path, *, with_errors: bool) -> None:
    made = archives.run(tmp_path, "one", "INVALID")
    assert without_reader("report", str(made.path), with_errors=with_errors) == (0, b"")
    assert without_reader("check", "-v", str(made.path), with_errors=with_errors) == (10, b"")


def test_a_search_goes_on_to_its_finding() -> None:
    chosen = ("--defect", "gather-not-atomic", "--seed", "16")
    assert without_reader("explore", "pod-arrives-during-binding", *chosen) == (10, b"")


def test_a_watch_without_a_reader_ends(tmp_path: pathlib.Path) -> None:
    """The run is under way as far as its folder tells."""
    made = archives.run(tmp_path, "one", "INVALID")
    for name in ("verdict.json", "manifest.json"):
        (made.path / name).unlink(missing_ok=True)
    code, err = without_reader("watch", str(made.path))
    assert (code, err) == (20, b"")
