"""Control characters in names reach no terminal, no page and no JUnit file."""

import pathlib
import re
import subprocess
import sys

import pytest

from harness.report import escaping
from tests.histories import building

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnirts\x7f\r"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


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


def test_nor_is_what_a_message_quotes(tmp_path: pathlib.Path) -> None:
    argv = [sys.executable, "-m", "harness.cli.main", "check", f"nowhere{EVIL}"]
    ended = subprocess.run(argv, capture_output=True, timeout=60, check=False, cwd=tmp_path)
    assert ended.returncode == 2
    assert CONTROLS.findall(ended.stderr.decode()) == []
    assert "\\x1b[2J" in ended.stderr.decode()


def test_a_path_that_is_no_text_can_be_printed(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run-\udcff", "a+D1 p*")
    argv = [sys.executable, "-m", "harness.cli.main", "check", str(directory.path)]
    ended = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"run-\\udcff" in ended.stdout
