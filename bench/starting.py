"""CPU time of parts of a run until they are ready: started, and forked from a template."""

import pathlib
import tempfile
from collections.abc import Iterator

import psutil

from harness import processes

TIMES = 3
READY_TIMEOUT_S = 60.0
PARTS = ("scheduler", "claim-controller")


def measure() -> Iterator[tuple[str, float, str]]:
    """Yield milliseconds, the least of TIMES, for each part."""
    started = _milliseconds()
    processes.prepare()
    forked = _milliseconds()
    for part, spent_ms in started.items():
        yield f"{part}, started", spent_ms, "CPU ms"
        yield f"{part}, forked", forked[part], "CPU ms"


def _milliseconds() -> dict[str, float]:
    """Return part -> CPU milliseconds until it is ready, the least of TIMES."""
    rounds = [_once() for _ in range(TIMES)]
    return {part: min(spent[part] for spent in rounds) for part in rounds[0]}


def _once() -> dict[str, float]:
    spent_ms: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        options = ["--kubeconfig", str(folder / "kubeconfig")]
        running = []
        for part in ("apiserver", *PARTS):
            process = processes.start_ready(
                part,
                processes.command("part", part, *options),
                log=folder / f"{part}.log",
                ready=folder / f"{part}.ready",
                timeout_s=READY_TIMEOUT_S,
            )
            running.append(process)
            times = psutil.Process(process.pid).cpu_times()
            spent_ms[part] = (times.user + times.system) * 1000
        for process in reversed(running):
            process.stop(timeout_s=READY_TIMEOUT_S)
    return spent_ms
