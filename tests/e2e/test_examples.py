"""The examples, as a stranger has them: in a folder of their own, run by their own tests."""

import pathlib
import shutil
import subprocess
import sys

import pytest

from harness.scenario import examples

pytestmark = pytest.mark.e2e
TIMEOUT_S = 170.0


def output_of_tests(folder: pathlib.Path, *arguments: str) -> str:
    """The output of the examples' own tests, which pass."""
    examples.copy(folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        [*command, f"--basetemp={folder / 'tmp'}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_examples_pass_their_own_tests(tmp_path: pathlib.Path) -> None:
    assert "3 passed" in output_of_tests(tmp_path, "-n", "2", "-k", "not in_go")


@pytest.mark.skipif(shutil.which("go") is None, reason="the scheduler in Go needs the program `go`")
def test_the_example_in_go_passes_its_test(tmp_path: pathlib.Path) -> None:
    assert "1 passed" in output_of_tests(tmp_path, "-n", "0", "-k", "in_go")
