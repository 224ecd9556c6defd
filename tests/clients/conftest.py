"""An API server as a process, and the kubeconfig that it writes, which every client reads as it
is.
"""

import pathlib
from collections.abc import Iterator

import pytest

from harness import processes

WATCH_HISTORY = 12
"""So few changes are kept that a test can outrun a watch."""
START_S = 60


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """With TLS, its own certificate authority and a token."""
    folder = tmp_path_factory.mktemp("clients")
    path = folder / "kubeconfig"
    argv = ["--kubeconfig", str(path), "--set", f"watch_history={WATCH_HISTORY}"]
    process = processes.start_ready(
        "apiserver",
        processes.command("part", "apiserver", *argv),
        log=folder / "log",
        ready=folder / "ready",
        timeout_s=START_S,
    )
    yield path
    process.stop(timeout_s=START_S)


@pytest.fixture
def outrunning() -> range:
    """For as many changes as make the server forget every version before."""
    return range(WATCH_HISTORY + 1)
