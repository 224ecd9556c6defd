"""Judging: lines decoded and folded, whole runs, and the search for overlapping holds.

All figures are CPU time of one process, the best of three; of the processes that judge a run and
end, of one.
"""

import functools
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import numpy as np

from bench import cpu_time, large_runs
from harness.checks import check_registry, device_exclusivity, judging, protocol
from harness.checks.holds import hold_history
from harness.checks.observed import folders, observations
from harness.history import histories
from harness.report import publishing
from tests.histories import hold_lists

DEVICES = 10_000
HOLDS = (10_000, 100_000)
HOLDS_OF_PROCESSES = (*HOLDS, 1_000_000)
_SMALL = 200
_ADDITIONS = "total = 0\nfor number in range(10_000_000):\n    total += number"
"""The unit of machines: the first figure of the table, to which others have ratios."""
_PROCESS = (
    "import pathlib, resource, sys\n"
    "from harness.checks import judging\n"
    "from harness.history import directories\n"
    "judging.judge(directories.existing(pathlib.Path(sys.argv[1])))\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
)


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure runs of growing size, and exclusivity among a hundred thousand and a million holds.

    The largest run takes 2.2 GB of disk space, as long as it is measured.
    """
    additions = [sys.executable, "-c", _ADDITIONS]
    yield "ten million additions of a Python loop", cpu_time.of_command(additions), "s CPU"
    with tempfile.TemporaryDirectory() as folder:
        run = str(large_runs.build(pathlib.Path(folder, str(_SMALL)), _SMALL).path)
        for command in ("check", "report"):
            seconds = cpu_time.of_command([sys.executable, "-m", "harness", command, run])
            yield f"{_SMALL} holds: flake-hunt {command}, from start to exit", seconds, "s CPU"
    for count in HOLDS_OF_PROCESSES:
        with tempfile.TemporaryDirectory() as folder:
            directory = large_runs.build(pathlib.Path(folder, str(count)), count)
            yield from _of_process(directory.path, count)
            if count in HOLDS:
                yield from _of_run(directory.path, count)
    for count in (100_000, 1_000_000):
        history = _history(count)
        seconds = cpu_time.of_call(
            functools.partial(device_exclusivity.check, history, lambda _: None)
        )
        yield f"exclusivity among {count:,} holds of {DEVICES:,} devices", seconds, "s CPU"
    history = _one_device(2_000)
    seconds = cpu_time.of_call(functools.partial(device_exclusivity.check, history, lambda _: None))
    yield "count the 1,999,000 pairs of a device in 2,000 claims", seconds * 1e3, "ms CPU"


def _of_run(path: pathlib.Path, count: int) -> Iterator[tuple[str, float, str]]:
    history = histories.load(path)
    asked = list(protocol.needs(check_registry.CHECKS, history.plan))
    lines = sum(1 for _ in _decoded(history))
    for what, call in (
        ("decoded", lambda: sum(1 for _ in _decoded(history))),
        ("decoded and folded into holds", lambda: folders.fold(_decoded(history), _empty())),
        ("decoded and folded for all checks", lambda: protocol.read(history, asked)),
    ):
        yield (
            f"{count:,} holds: watch lines {what}",
            lines / cpu_time.of_call(call) / 1e3,
            "k lines/s",
        )
    seconds = cpu_time.of_call(lambda: judging.judge(history.directory))
    yield f"{count:,} holds: judged by all checks", seconds, "s CPU"
    yield from _of_report(judging.examine(history.directory), count)


def _of_process(path: pathlib.Path, count: int) -> Iterator[tuple[str, float, str]]:
    """Measure a process that judges a run and does nothing else, with its imports."""
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS, str(path)], capture_output=True, text=True, check=True
    )
    seconds, kibibytes = map(float, done.stdout.split())
    yield f"{count:,} holds: process that judges them", seconds, "s CPU"
    yield f"{count:,} holds: memory of the judging process", kibibytes / 1024, "MiB"


def _of_report(examination: judging.Examination, count: int) -> Iterator[tuple[str, float, str]]:
    """Measure the page and the trace of a run that is judged already."""
    directory = examination.history.directory
    seconds = cpu_time.of_call(lambda: publishing.write(examination))
    yield f"{count:,} holds: report and trace, after judging", seconds, "s CPU"
    for path in (directory.report, directory.pages()[-1]):
        yield f"{count:,} holds: {path.name}", path.stat().st_size / 2**20, "MiB"


def _decoded(history: histories.History) -> histories.EvidenceReader:
    reader = history.observations(observations.decode_lines)
    assert reader is not None
    return reader


def _empty() -> folders.Folder:
    return hold_history.HoldHistory()


def _history(count: int) -> hold_history.HoldHistory:
    """Sequential holds of many devices, of which one in a thousand overlaps others."""
    random = np.random.default_rng(1)
    devices = random.integers(0, DEVICES, count).tolist()
    lasting = np.where(random.random(count) < 0.001, DEVICES * 20, 0).tolist()
    return _of_holds(
        hold_lists.hold(f"d/p/{device}", f"c{number}", number * 10, number * 10 + 10 + more)
        for number, (device, more) in enumerate(zip(devices, lasting, strict=True))
    )


def _one_device(claims: int) -> hold_history.HoldHistory:
    return _of_holds(hold_lists.hold("d/p/d", f"c{number}", number) for number in range(claims))


def _of_holds(holds: Iterator[hold_history.Hold]) -> hold_history.HoldHistory:
    history = hold_history.HoldHistory()
    history.holds = hold_lists.columns(holds)
    history.last_rv = int(history.holds.column("from_rv")[-1]) + 10
    return history
