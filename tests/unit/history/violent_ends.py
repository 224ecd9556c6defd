"""Writers of journals that are killed, or have no space left, in processes of their own."""

import pathlib
import signal
import subprocess
import sys

from harness.history import journal_reader, records, zstd_frames

_ENDLESS_WRITER = """
import os, pathlib, sys
from harness.history import journal_writer, records, zstd_frames
zstd_frames.FRAME_MAX = int(sys.argv[2])
writer = journal_writer.Writer(pathlib.Path(sys.argv[1]), process="recorder", run_id="run")
n = 0
while True:
    batch = [records.Phase(name="x" * (n % 300), ts_ns=n + i) for i in range(1 + n % 3)]
    writer.write(batch[0])
    writer.write_many(batch[1:])
    n += len(batch)
    os.write(1, b"%d\\n" % n)
"""
_WRITER_WITHOUT_SPACE = """
import pathlib, resource, sys
from harness.history import journal_writer, records
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
writer = journal_writer.Writer(pathlib.Path(sys.argv[1]), process="recorder", run_id="run")
try:
    for n in range(1000):
        writer.write(records.Phase(name="phase", ts_ns=n * 7919 % 10007))
except OSError as error:
    print(n, type(error).__name__, error.filename == sys.argv[1])
"""


def require_nothing_lost(
    path: pathlib.Path, *, after: int, frame_max: int = zstd_frames.FRAME_MAX
) -> None:
    """Kill a writer after its `after`-th acknowledgement; all that it acknowledged can be read."""
    argv = [sys.executable, "-c", _ENDLESS_WRITER, str(path), str(frame_max)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    acknowledged = max(int(line) for line in said if line.endswith(b"\n"))
    journal = journal_reader.read(path)
    numbers = [record.ts_ns for record in journal.records if isinstance(record, records.Phase)]
    assert len(numbers) >= acknowledged >= after
    assert numbers == list(range(len(numbers)))
    assert journal.trailer is None


def require_error_without_space(path: pathlib.Path) -> None:
    """Let a writer use up its space: it gets an error at once that names the file."""
    argv = [sys.executable, "-c", _WRITER_WITHOUT_SPACE, str(path)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    written, *error = done.stdout.split()
    journal = journal_reader.read(path)
    assert error == ["OSError", "True"]
    assert len(journal.records) == int(written) > 10
    assert journal.torn
