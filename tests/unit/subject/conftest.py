"""Fixtures of the subject's tests."""

from collections.abc import Iterator

import pytest

from harness import concurrency
from tests.support import controlled_runtimes, local_servers


@pytest.fixture
def server() -> Iterator[local_servers.LocalServer]:
    server = local_servers.LocalServer()
    yield server
    server.close()


@pytest.fixture
def time() -> Iterator[controlled_runtimes.VirtualTime]:
    """Virtual time for everything that is made and done in the test."""
    runtime = controlled_runtimes.VirtualTime()
    with concurrency.install(runtime):
        yield runtime


@pytest.fixture
def steps() -> Iterator[list[tuple[str, dict[str, object]]]]:
    """Every step that is taken."""
    taken: list[tuple[str, dict[str, object]]] = []
    concurrency.listen(lambda name, fields: taken.append((name, dict(fields))))
    yield taken
    concurrency.listen(None)
