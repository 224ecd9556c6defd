"""A server that serves the fault API."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support import faulty_servers


@pytest.fixture
def clock() -> faulty_servers.Clock:
    return faulty_servers.Clock()


@pytest.fixture
def faulty(serve: Callable[..., Any], clock: faulty_servers.Clock) -> Any:
    """A server that serves the fault API; its faults have the test's clock."""
    return serve(make_parts=clock.parts)
