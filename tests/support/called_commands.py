"""The command in this process: what it prints and how it ends, without the start of a process."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from harness.cli import interruptions, main


class FlakeHunt:
    """The command."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self._monkeypatch.setattr("sys.argv", ["flake-hunt", *map(str, arguments)])
        with kept_hooks(), pytest.raises(SystemExit) as ended:
            main.main()
        printed = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out, printed.err


@contextlib.contextmanager
def kept_hooks() -> Iterator[None]:
    """Keep those of pytest: with the command's, an interruption or the failure of a thread would
    end it without a word, many tests later.
    """
    handlers = {number: signal.getsignal(number) for number in interruptions.SIGNALS}
    hooks = sys.excepthook, threading.excepthook
    try:
        yield
    finally:
        sys.excepthook, threading.excepthook = hooks
        for number, handler in handlers.items():
            signal.signal(number, handler)
