"""No request costs the API server more than a stated amount of processor time and memory."""

from collections.abc import Iterator

import psutil
import pytest

from tests.fuzzing import costs, expensive, wires

CPU_MAX_S = 2 * costs.CPU_MAX_S
"""Processor time is counted in steps of 10 ms, and grows on a machine whose caches are shared."""
PARTS = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wires.Server]:
    with costs.serving(tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.mark.parametrize("part", range(PARTS))
def test_no_request_costs_too_much(server: wires.Server, part: int) -> None:
    other = costs.Other(server)
    try:
        chosen = expensive.requests()[part::PARTS]
        found = [costs.measure(server, other, costly) for costly in chosen]
    finally:
        other.stop()
    beyond = [cost for cost in found if is_beyond(cost)]
    assert not beyond, "\n".join(map(str, beyond))
    assert len(found) >= 300 // PARTS
    assert psutil.Process(server.process.pid).memory_info().rss < 2 * costs.MEMORY_MAX_BYTES
    server.require_health()


def is_beyond(cost: costs.Cost) -> bool:
    """Return whether a request cost too much, or was not answered at all."""
    too_large = cost.memory_bytes > costs.MEMORY_MAX_BYTES
    return not cost.status or cost.cpu_s > CPU_MAX_S or too_large
