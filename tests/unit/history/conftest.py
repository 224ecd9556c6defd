"""The command in this process."""

import pytest

from tests.support.called_commands import FlakeHunt


@pytest.fixture
def flake_hunt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> FlakeHunt:
    return FlakeHunt(monkeypatch, capsys)
