"""Explaining: logs of schedulers, whole ones and their lines of interest alone.

All figures are CPU time of one process, the best of three.
"""

import lzma
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from tests.support import log_lines

_HINT = (
    b"I1121 00:34:21.624258   14309 dynamicresources.go:314] "
    b'"pod is not schedulable after resource claim change" pod="hunt-1/my-pod-%04d" '
    b'claim="hunt-1/claim-%04d" reason="resourceclaim in use"\n'
)
"""The line that nearly all of a log at verbosity 6 consists of."""
_WHOLE, _DENSE, _ENDLESS = 400 * 10**6, 180 * 10**6, 2 * 10**9
_CALL = (
    "import pathlib, sys, time\n"
    "from harness.log_analysis import analyses\n"
    "began = time.process_time()\n"
    "found = analyses.analyse(sys.argv[1:])\n"
    "seconds = time.process_time() - began\n"
    "assert len(found.findings) == 4\n"
    "status = pathlib.Path('/proc/self/status').read_text()\n"
    "print(seconds, int(status.partition('VmHWM:')[2].split()[0]) / 1024)\n"
)


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure text of two kinds, and the memory for 2 GB that come through a pipe."""
    recorded = lzma.decompress(log_lines.RECORDED.read_bytes())
    hints = b"".join(_HINT % (number, number) for number in range(5_000))
    with tempfile.TemporaryDirectory() as folder:
        for what, size, parts in (
            ("a whole log at verbosity 6", _WHOLE, [recorded, hints * 60]),
            ("its lines of interest alone", _DENSE, [recorded]),
        ):
            path = pathlib.Path(folder, "scheduler.log")
            text = b"".join(parts)
            path.write_bytes(text * (size // len(text)))
            seconds, _ = min(_analyse(str(path)) for _ in range(3))
            yield f"{what}", path.stat().st_size / seconds / 1e6, "MB/s"
        path.write_bytes(recorded)
        count = _ENDLESS // len(recorded)
        feed = subprocess.Popen(["cat", *[str(path)] * count], stdout=subprocess.PIPE)
        _, memory = _analyse("-", stdin=feed.stdout)
        feed.wait()
        yield "memory for 2 GB through a pipe", memory, "MiB"


def _analyse(name: str, stdin: object = None) -> tuple[float, float]:
    """Return CPU seconds and peak memory in MiB of a process that analyses a log."""
    command = [sys.executable, "-c", _CALL, name]
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=True)  # type: ignore[call-overload]
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)
