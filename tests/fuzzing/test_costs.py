"""No request costs the API server more than a stated amount of processor time and memory."""

import pathlib

import psutil

from tests.fuzzing import costs, expensive

CPU_MAX_S = 2 * costs.CPU_MAX_S
"""Processor time is counted in steps of 10 ms, and grows on a machine whose caches are shared."""


def test_no_request_costs_too_much(tmp_path: pathlib.Path) -> None:
    with costs.serving(tmp_path) as server:
        found = [costs.measure(server, None, costly) for costly in expensive.requests()]
        beyond = [cost for cost in found if is_beyond(cost)]
        assert not beyond, "\n".join(map(str, beyond))
        assert len(found) >= 300
        assert psutil.Process(server.process.pid).memory_info().rss < 2 * costs.MEMORY_MAX_BYTES
        server.require_health()


def is_beyond(cost: costs.Cost) -> bool:
    """Return whether a request cost too much, or was not answered at all."""
    too_large = cost.memory_bytes > costs.MEMORY_MAX_BYTES
    return not cost.status or cost.cpu_s > CPU_MAX_S or too_large
