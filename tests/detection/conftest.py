"""Fixtures of the deterministic schedules."""

from collections.abc import Iterator

import pytest

from harness import concurrency
from tests.detection import stages


@pytest.fixture
def stage() -> Iterator[stages.Stage]:
    """A stage on which all threads of the test are held and released."""
    stage = stages.Stage()
    with concurrency.install(stage):
        yield stage
