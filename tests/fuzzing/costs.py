"""Measure the cost of one request to the API server: waits of other clients, CPU time, memory.

.venv/bin/python -m tests.fuzzing.costs           all requests, with the most expensive ones by name
.venv/bin/python -m tests.fuzzing.costs yaml      those with `yaml` in their names
"""

import argparse
import contextlib
import dataclasses
import http.client
import json
import pathlib
import sys
import tempfile
import threading
from collections.abc import Iterator

import psutil

from harness import clocks
from tests.fuzzing import expensive, wires

WAIT_MAX_S = 0.1
"""Of another client, while one request is answered."""
PAUSE_S = 0.005
"""Of that client between two requests; without it, most of the measured cost would be its own."""
CPU_MAX_S = 0.25
"""Of the server, which meanwhile also answers the other client."""
MEMORY_MAX_BYTES = 160 * 1024 * 1024
"""How much the server's memory may grow at most while it answers one request."""
SHOWN = 10


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of one request."""

    name: str
    status: int
    wait_s: float
    """The longest wait of the other client."""
    cpu_s: float
    memory_bytes: int
    """The highest use of memory during the request, less that before it."""

    def __str__(self) -> str:
        return (
            f"{self.cpu_s:6.2f} s CPU {self.memory_bytes / 2**20:6.1f} MiB "
            f"{self.wait_s * 1000:7.1f} ms wait  {self.status}  {self.name}"
        )

    @property
    def is_too_much(self) -> bool:
        return (
            self.wait_s > WAIT_MAX_S
            or self.cpu_s > CPU_MAX_S
            or self.memory_bytes > MEMORY_MAX_BYTES
        )


class Other:
    """Another client: it asks for something cheap again and again, and notes how long it waits."""

    def __init__(self, server: wires.Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._begun_s = self._longest_s = 0.0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.is_set():
            with self._lock:
                self._begun_s = _now_s()
            with contextlib.suppress(TimeoutError):
                self._server.send("GET", "/api/v1/namespaces/default")
            with self._lock:
                self._note()
            self._ends.wait(PAUSE_S)

    def _note(self) -> None:
        self._longest_s = max(self._longest_s, _now_s() - self._begun_s)

    def begin(self) -> None:
        with self._lock:
            self._longest_s, self._begun_s = 0.0, _now_s()

    def longest_s(self) -> float:
        with self._lock:
            self._note()
            return self._longest_s

    def stop(self) -> None:
        self._ends.set()
        self._thread.join()


@contextlib.contextmanager
def serving(directory: pathlib.Path) -> Iterator[wires.Server]:
    server = wires.Server(directory)
    try:
        for collection, document in expensive.seeds():
            answer = server.send("POST", collection, json.dumps(document).encode())
            if answer.status != http.HTTPStatus.CREATED:
                raise AssertionError(f"expected 201 but got {answer}")
        yield server
    finally:
        server.stop()


def measure(server: wires.Server, other: Other | None, costly: expensive.Costly) -> Cost:
    """Return what a request costs, without an `other` client without its waits; the server must be
    well afterwards.
    """
    process = psutil.Process(server.process.pid)
    before = _rss(process)
    _forget_peak(process.pid)
    cpu_s = _cpu_s(process)
    if other is not None:
        other.begin()
    status = _send(server, costly)
    wait_s = other.longest_s() if other is not None else 0.0
    return Cost(
        name=costly.name,
        status=status,
        wait_s=wait_s,
        cpu_s=_cpu_s(process) - cpu_s,
        memory_bytes=_peak(process.pid) - before,
    )


def _send(server: wires.Server, costly: expensive.Costly) -> int:
    """Return the status of the answer, 0 when none came in time."""
    try:
        return server.send(costly.method, costly.target, costly.body, costly.headers).status
    except (TimeoutError, http.client.HTTPException):
        return 0


def _now_s() -> float:
    return clocks.monotonic_ns() / 1e9


def _rss(process: psutil.Process) -> int:
    return int(process.memory_info().rss)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _forget_peak(pid: int) -> None:
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # proc(5): reset VmHWM


def _peak(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def main(arguments: list[str]) -> int:
    """Send the requests and print the most expensive ones; return 1 if one is beyond a limit."""
    parser = argparse.ArgumentParser(description="Measure the cost of requests to the API server.")
    parser.add_argument("part", nargs="?", default="", help="only requests with this in their name")
    wanted = parser.parse_args(arguments).part
    chosen = (costly for costly in expensive.requests() if wanted in costly.name)
    costs = []
    with tempfile.TemporaryDirectory() as name, serving(pathlib.Path(name)) as server:
        other = Other(server)
        try:
            costs = [measure(server, other, costly) for costly in chosen]
        finally:
            other.stop()
    costs.sort(key=lambda cost: (cost.cpu_s, cost.wait_s), reverse=True)
    beyond = [cost for cost in costs if cost.is_too_much]
    for line in _told(costs, beyond):
        sys.stdout.write(f"{line}\n")
    return 1 if beyond else 0


def _told(costs: list[Cost], beyond: list[Cost]) -> Iterator[str]:
    yield f"{len(costs)} requests; the most expensive ones:"
    yield from map(str, costs[:SHOWN])
    yield f"longest wait of another client: {max(cost.wait_s for cost in costs) * 1000:.1f} ms, allowed {WAIT_MAX_S * 1000:.0f} ms"  # fmt: skip
    yield f"most processor time: {max(cost.cpu_s for cost in costs):.2f} s, allowed {CPU_MAX_S} s"
    most = max(cost.memory_bytes for cost in costs)
    yield f"most memory: {most / 2**20:.1f} MiB, allowed {MEMORY_MAX_BYTES // 2**20} MiB"
    yield f"{len(beyond)} beyond the limits"
    yield from map(str, beyond)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
