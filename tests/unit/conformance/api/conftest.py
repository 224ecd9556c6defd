"""A real server process, which remembers little of its past."""

import pathlib
from collections.abc import Iterator

import pytest

from harness import processes
from harness.client import transports

TIMEOUT_S = 60
WATCH_HISTORY = 200


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    directory = tmp_path_factory.mktemp("server")
    plain = directory / "plain"
    argv = processes.command(
        "apiserver",
        "--kubeconfig",
        str(directory / "tls"),
        "--plain-kubeconfig",
        str(plain),
        "--watch-history",
        str(WATCH_HISTORY),
    )
    process = processes.start_ready(
        "apiserver",
        argv,
        log=directory / "log",
        ready=directory / "ready",
        timeout_s=TIMEOUT_S,
    )
    yield plain
    process.kill()


@pytest.fixture
def transport(kubeconfig: pathlib.Path) -> Iterator[transports.Transport]:
    made = transports.connect(kubeconfig)
    yield made
    made.close()
