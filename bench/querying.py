"""Ten million holds counted from Parquet, and a run written as Parquet, by processes that end.

Each figure is of one process with its imports: seconds of the clock and of CPU, and its memory.
"""

import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import msgspec

from harness.tables import database, definitions, exporting, exports
from tests.histories import large

HOLDS, DEVICES = 10_000_000, 10_000
EXPORTED = 100_000
DOUBLED = 0, 1_000
"""A hold of as many overlaps the next one of its device; 0: none does."""
_COUNTED = "select examined, double_allocations from exclusivity"
_PROCESS = (
    "import resource, sys\n"
    "from harness.cli import commands\n"
    "code = commands.run()\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
    "sys.exit(code)\n"
)
_HOLDS = """
SELECT 'run' AS run, format('driver/worker-{{}}/device-{{:05}}', i % {devices} // 100, i % {devices})
    AS device, format('{{:08x}}-0000-4000-8000-{{:012x}}', i % 1000, i) AS uid,
    'tests' AS namespace, 'claim-' || i AS name, 'exclusive' AS kind, i AS from_rv,
    i + {devices} + {more} AS until_rv, i AS from_ts_ns, i + {devices} AS until_ts_ns
FROM range({holds}) AS t(i)
"""


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure queries of two exports with HOLDS holds each, and an export of EXPORTED holds."""
    for one_of in DOUBLED:
        with tempfile.TemporaryDirectory() as folder:
            _write(pathlib.Path(folder), one_of)
            what = (
                f"{HOLDS:,} holds in Parquet, one of {one_of:,} doubled"
                if one_of
                else (f"{HOLDS:,} holds in Parquet, none doubled")
            )
            yield from _of_command(f"{what}: counted", "query", folder, _COUNTED)
    with tempfile.TemporaryDirectory() as folder:
        run = large.build(pathlib.Path(folder, "run"), EXPORTED)
        target = str(pathlib.Path(folder, "exported"))
        yield from _of_command(
            f"{EXPORTED:,} holds: exported", "export", str(run.path), "-o", target
        )


def _write(folder: pathlib.Path, one_of: int) -> None:
    """Write an export; its tables but for the holds are empty."""
    more = f"CASE WHEN i % {one_of - 1} = 0 THEN 5 ELSE 0 END" if one_of else "0"
    with database.connected(database.views()) as connection:
        for name in definitions.TABLES:
            source = f"SELECT * FROM {name}"
            if name == "holds":
                source = _HOLDS.format(devices=DEVICES, holds=HOLDS, more=more)
            exporting.copy(connection, source, exports.file_of(folder, name))
    contents = exports.Contents(version="bench", runs=["run"])
    (folder / exports.NAME).write_bytes(msgspec.json.encode(contents))


def _of_command(what: str, *arguments: str) -> Iterator[tuple[str, float, str]]:
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS, *arguments], capture_output=True, text=True, check=True
    )
    yield what, time.perf_counter() - begun, "s"
    seconds, kibibytes = map(float, done.stdout.split()[-2:])
    yield what, seconds, "s CPU"
    yield f"{what}: memory", kibibytes / 1024, "MiB"
