"""A worker of a campaign: how it ends."""

import os
import signal
import types
from collections.abc import Iterator
from typing import Any

import pytest

from harness import processes
from harness.campaign import plugin


@pytest.fixture(autouse=True)
def handler_of_sigterm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(processes, "die_with", lambda _: None)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


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
