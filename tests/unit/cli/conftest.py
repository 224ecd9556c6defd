"""The command in this process."""

import pytest

from harness.cli import main


@pytest.fixture
def flake_hunt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "FlakeHunt":
    return FlakeHunt(monkeypatch, capsys)


class FlakeHunt:
    """The command."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self._monkeypatch.setattr("sys.argv", ["flake-hunt", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.main()
        printed = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out, printed.err
