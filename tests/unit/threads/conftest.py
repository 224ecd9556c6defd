"""Programs whose threads the tests hold."""

import pathlib
from collections.abc import Iterator

import pytest

from tests.unit.threads import programs


@pytest.fixture(scope="session")
def loops(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The program in C."""
    if reason := programs.without_c():
        pytest.skip(reason)
    return programs.build_loops(tmp_path_factory.mktemp("loops"))


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[programs.Start]:
    with programs.starting(tmp_path) as start:
        yield start
