"""A worker of a campaign: how it ends."""

import os
import signal
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from harness import bound_processes
from harness.campaign import plugin


@pytest.fixture(autouse=True)
def handler_of_sigterm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(bound_processes, "die_with", lambda _: None)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def configure(**workerinput: object) -> None:
    config: Any = types.SimpleNamespace(workerinput=workerinput)
    plugin.pytest_configure(config)


def test_sigterm_interrupts_a_worker_once() -> None:
    """The second signal arrives while the worker removes its cluster."""
    configure(**{"flake-hunt-controller": os.getppid()})
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)


def test_the_controlling_process_keeps_its_handler() -> None:
    before = signal.getsignal(signal.SIGTERM)
    configure()
    assert signal.getsignal(signal.SIGTERM) == before


class Unlucky:
    """An interruption that comes while it is removed is lost."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


def test_an_interruption_that_python_loses_comes_again(capfd: pytest.CaptureFixture[str]) -> None:
    configure(**{"flake-hunt-controller": os.getppid()})
    with pytest.raises(KeyboardInterrupt):
        _lose_and_wait()
    assert capfd.readouterr().err == ""


def _lose_and_wait() -> None:
    del [Unlucky()][0]
    signal.sigtimedwait([signal.SIGUSR2], 20)
