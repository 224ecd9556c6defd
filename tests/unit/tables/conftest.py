"""A run, and the command line as a user calls it."""

import pathlib

import pytest

from tests.histories import building
from tests.support import called_commands

HISTORY = "p:a,b a+D1 a^p p>n p* b+D1 a~"


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    return building.build(tmp_path / "run", HISTORY).path


@pytest.fixture
def ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> called_commands.FlakeHunt:
    return called_commands.FlakeHunt(monkeypatch, capsys)
