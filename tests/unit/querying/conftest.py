"""A run, and the command line as a user calls it."""

import pathlib
import sys

import pytest

from harness.cli import commands
from tests.histories import building

HISTORY = "p:a,b a+D1 a^p p>n p* b+D1 a~"


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    return building.build(tmp_path / "run", HISTORY).path


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def asked(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["flake-hunt", *map(str, arguments)])
        code = commands.run()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return asked
