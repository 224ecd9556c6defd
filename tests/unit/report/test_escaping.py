"""Control characters in names reach no terminal, no page and no JUnit file."""

import pathlib
import re
import subprocess
import sys

import pytest

from harness.checks import judging
from harness.history import records
from harness.report import escaping, publishing
from tests.histories import building, damages

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


def test_hostile_names_are_shown_and_not_obeyed(tmp_path: pathlib.Path) -> None:
    names = {"a": f"a{EVIL}", "b": f"b{EVIL}", "D1": f"D1{EVIL}", "p": f"p{EVIL}"}
    directory = building.build(
        tmp_path / "run", "a+D1 p* b+D1", names=names, scenario=f"scenario{EVIL}"
    )
    phase = records.Phase(name=f"ended early{EVIL}", ts_ns=0, detail=EVIL)
    for damage in (
        damages.appended(damages.processes, phase),
        damages.process_died(f"x{EVIL}"),
    ):
        damage(directory)
    publishing.publish(judging.examine(directory))
    for file in (directory.report, directory.junit):
        text = file.read_text(encoding="utf-8")
        assert CONTROLS.findall(text) == []
        assert "\\x1b[2J" in text
    argv = [sys.executable, "-m", "harness.cli.main", "check", str(directory.path)]
    ended = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 10
    printed = (ended.stdout + ended.stderr).decode()
    assert CONTROLS.findall(printed) == []
    assert "\\x1b[2J" in printed


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
