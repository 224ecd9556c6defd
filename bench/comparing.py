"""Many runs from their small files: two campaigns compared, and the index of a folder of reports.

CPU time of one process, the best of three; the command's includes its imports.
"""

import pathlib
import random
import sys
import tempfile
from collections.abc import Callable, Iterator

from bench import cpu_time
from harness.comparison import comparing
from harness.report import reports_index
from tests.histories import archives

RUNS, INDEXED = 100, 10_000


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure a comparison in a process of its own and in this one, and an index."""
    with tempfile.TemporaryDirectory() as folder:
        reports = pathlib.Path(folder)
        paths = [_campaign(reports, name) for name in ("a", "b")]
        command = [sys.executable, "-m", "harness", "compare", *map(str, paths)]
        what = f"compare two campaigns of {RUNS} runs"
        yield f"{what}: the command", cpu_time.of_command([*command, "--quiet"]), "s CPU"
        yield what, cpu_time.of_call(lambda: comparing.compare(paths)), "s CPU"
    with tempfile.TemporaryDirectory() as folder:
        reports = pathlib.Path(folder)
        archives.repeated(archives.run(reports, "run"), INDEXED, figures=lambda _: {})
        seconds = cpu_time.of_call(lambda: reports_index.write(reports))
        yield f"index of {INDEXED:,} runs", seconds, "s CPU"
        size = (reports / reports_index.NAME).stat().st_size
        yield f"index of {INDEXED:,} runs: the page", size / 2**20, "MiB"


def _campaign(reports: pathlib.Path, name: str) -> pathlib.Path:
    made = archives.run(reports, name, scenario=f"of-{name}", changes={"scenario": "churn"})
    runs = archives.repeated(made, RUNS, figures=_figures(random.Random(name)))
    return archives.campaign(reports, name, runs)


def _figures(drawn: random.Random) -> Callable[[int], dict[str, float]]:
    return lambda _: {
        "allocations_per_s": drawn.gauss(100, 5),
        "pod_to_running": drawn.gauss(90, 9),
    }
