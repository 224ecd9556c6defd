"""The examples, as a stranger has them: in a folder of their own, run by their own tests."""

import pathlib
import subprocess
import sys

import pytest

from harness.scenario import examples

pytestmark = pytest.mark.e2e
TIMEOUT_S = 170.0


def test_the_examples_pass_their_own_tests(tmp_path: pathlib.Path) -> None:
    examples.copy(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, f"--basetemp={tmp_path / 'tmp'}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
