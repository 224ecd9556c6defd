"""Recording: observations written and read, plain and compressed.

The records are written one by one, as the recorder writes them when watch events come. All figures
are CPU time of one process, the best of three. In a run of pod-churn, which records pods, too, the
records have 2.4 kB and become 34 times smaller.
"""

import functools
import pathlib
import tempfile
from collections.abc import Iterator, Sequence

from bench import cpu_time, large_runs
from harness.history import journal_reader, journal_writer, records

HOLDS = 10_000
FORMS = ("none", "zstd")


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure the cost and the size of a record in both forms."""
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        directory = large_runs.build(pathlib.Path(folder, "run"), HOLDS)
        body = journal_reader.read(directory.observations).records
        for form in FORMS:
            path = pathlib.Path(folder, directory.new_observations(form).name)
            seconds = cpu_time.of_call(functools.partial(_write, path, body))
            yield f"write {len(body):,} records, compression {form}", _micro(seconds, body), _COST
            seconds = cpu_time.of_call(functools.partial(_read, path))
            yield f"read their lines, compression {form}", _micro(seconds, body), _COST
            sizes.append(path.stat().st_size)
            yield f"their size, compression {form}", sizes[-1] / len(body), "bytes/record"
    yield "plain size to compressed size", sizes[0] / sizes[1], "times"


_COST = "µs/record"


def _micro(seconds: float, body: Sequence[records.Body]) -> float:
    return seconds / len(body) * 1e6


def _write(path: pathlib.Path, body: Sequence[records.Body]) -> None:
    path.unlink(missing_ok=True)
    writer = journal_writer.Writer(path, process="recorder", run_id="bench")
    for record in body:
        writer.write_many([record])
    writer.close()


def _read(path: pathlib.Path) -> None:
    for _ in journal_reader.Reader(path, decode=_without_objects):
        pass


def _without_objects(lines: Sequence[bytes]) -> list[object]:
    """Decode header and trailer only, because reading is measured and not decoding."""
    return [
        None if line.startswith(b'{"record":"o') else journal_reader.decode_record(line)
        for line in lines
    ]
