"""Control characters in names reach no terminal, no page and no JUnit file."""

import pathlib
import subprocess
import sys

import pytest

from harness.report import escaping
from tests.histories import building


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 🦊\n\t", "plain ä 🦊\n\t"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x00\x07\r\x7f\x9b", "\\x00\\x07\\x0d\\x7f\\x9b"),
        ("\u202e\u2066", "\\u202e\\u2066"),
        ("\udcff", "\\udcff"),
        ("\ufffe\uffff\ufffd", "\\ufffe\\uffff\ufffd"),
    ],
)
def test_control_characters_become_visible(text: str, shown: str) -> None:
    assert escaping.visible(text) == shown
    assert escaping.visible(shown) == shown


def test_a_path_that_is_no_text_can_be_printed(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run-\udcff", "a+D1 p*")
    argv = [sys.executable, "-m", "harness.cli.main", "check", str(directory.path)]
    ended = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"run-\\udcff" in ended.stdout
