"""The second witness: an audit log folded, and compared with the watch.

Figures of time are CPU time of one process, the best of three.
"""

import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import msgspec

from bench import cpu_time
from harness.checks import judging
from harness.checks.witness import audit_history
from harness.history import directories, histories, plans
from tests.histories import audit_logs, large

HOLDS = (20_000, 100_000)
_MEMORY = (
    "import pathlib, resource, sys\n"
    "from harness.checks import judging\n"
    "from harness.history import directories\n"
    "judging.judge(directories.existing(pathlib.Path(sys.argv[1])))\n"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
)


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure runs of two sizes, with and without their audit logs."""
    with tempfile.TemporaryDirectory() as folder:
        for count in HOLDS:
            directory = large.build(pathlib.Path(folder, str(count)), count)
            yield from _of_run(directory, f"{count:,} holds")


def _of_run(directory: directories.RunDirectory, which: str) -> Iterator[tuple[str, float, str]]:
    alone = cpu_time.of_call(lambda: judging.judge(directory))
    memory = _memory(directory)
    lines = _witnessed(directory)
    plan = plans.read(directory.plan)
    folding = cpu_time.of_call(lambda: _fold(directory, plan.namespace))
    size = sum(path.stat().st_size for path in directory.audit_logs())
    yield f"{which}: lines of the audit log folded", lines / folding / 1e3, "k lines/s"
    yield f"{which}: the audit log, {size / lines:,.0f} bytes a line", size / 2**20, "MiB"
    seconds = cpu_time.of_call(lambda: judging.judge(directory))
    yield f"{which}: judged without the log", alone, "s CPU"
    yield f"{which}: judged with it", seconds, "s CPU"
    yield f"{which}: memory of judging without it", memory, "MiB"
    yield f"{which}: memory of judging with it", _memory(directory), "MiB"


def _witnessed(directory: directories.RunDirectory) -> int:
    """Give the run an audit log that tells the same, and return the number of its lines."""
    body = histories.load(directory.path).observations()
    log = audit_logs.of_records(() if body is None else body)
    directory.audit.mkdir()
    (directory.audit / "audit.log").write_bytes(log)
    plan = msgspec.structs.replace(plans.read(directory.plan), audit_log=True)
    plans.write(directory.plan, plan)
    return log.count(b"\n")


def _fold(directory: directories.RunDirectory, namespace: str) -> None:
    reader = audit_history.AuditReader(directory.audit_logs())
    audit_history.fold(reader, namespace=namespace)


def _memory(directory: directories.RunDirectory) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(directory.path)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / 1024
