"""The page of a thousand nights: from the database to the file, and its parts.

CPU time of one process, the best of three; the command's includes its imports.
"""

import pathlib
import sys
import tempfile
import time
from collections.abc import Iterator

from bench import cpu_time
from harness.comparison.trends import changes, databases, night_series
from tests.histories import nights

NIGHTS, SCENARIOS, RUNS = 1_000, 10, 3
CALM = 5_000
"""Nights without a change, for the rate of false alarms."""


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure the command, and the reading and testing of the nights."""
    scenarios = [f"scenario-{number}" for number in range(SCENARIOS)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trends.sqlite"
        with databases.opened(path, is_new_allowed=True) as database:
            for number in range(NIGHTS):
                speed = 0.7 if number % 250 > 200 else 1.0
                database.add(nights.night(number, runs=RUNS, scenarios=scenarios, speed=speed))
        what = f"{NIGHTS:,} nights of {2 * SCENARIOS * RUNS} runs"
        command = [sys.executable, "-m", "harness", "trends", "page", "--database", str(path)]
        yield f"the page of {what}: the command", cpu_time.of_command(command), "s CPU"
        started = time.process_time()
        with databases.opened(path) as database:
            read = database.nights()
        yield f"{what}: reading", time.process_time() - started, "s CPU"
        started = time.process_time()
        found = changes.find(night_series.of_nights(read), len(read))
        yield f"{what}: testing", time.process_time() - started, "s CPU"
        yield f"{what}: changes found", len(found), "changes"
        page = path.with_name("trends.html")
        yield f"{what}: the page", page.stat().st_size / 2**20, "MiB"
        yield f"{what}: the database", path.stat().st_size / 2**20, "MiB"
    calm = [nights.night(number, runs=8, luck=0.1, seed=7) for number in range(CALM)]
    found = changes.find(night_series.of_nights(calm), len(calm))
    share = 100 * len({change.found for change in found}) / CALM
    yield f"{CALM:,} nights without a change: false alarms, at most 1 %", share, "%"
