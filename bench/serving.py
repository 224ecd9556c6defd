"""The list of 10,000 runs: read once, asked again, filtered, and as a page; memory of it all.

CPU time of this process; the folder has small run directories only.
"""

import pathlib
import resource
import tempfile
import time
from collections.abc import Iterator

from harness.serving import listings, pages, sites
from tests.histories import archives

RUNS = 10_000


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure the list of RUNS runs."""
    with tempfile.TemporaryDirectory() as folder:
        reports = pathlib.Path(folder)
        made = archives.run(reports, "20260101T000000Z")
        archives.repeated(made, RUNS - 1, figures=lambda _: {})
        before_mib = _memory_mib()
        listing = listings.Listing(reports)
        started = time.process_time()
        listed = listing.listed()
        yield f"{RUNS:,} runs: read for the first time", time.process_time() - started, "s CPU"
        time.sleep(4 * listings.FRESH_S + 1)  # noqa: TID251
        started = time.process_time()
        listed = listing.listed()
        yield f"{RUNS:,} runs: looked at again", time.process_time() - started, "s CPU"
        started = time.process_time()
        parameters = {"verdict": "VALID", "text": "written", "page": "50"}
        page = sites.render("runs.html.j2", **pages.of_runs(listed, parameters))
        yield "  filtered, and one page of it", time.process_time() - started, "s CPU"
        yield "  the page", len(page) / 1024, "KiB"
        yield f"{RUNS:,} runs: memory", _memory_mib() - before_mib, "MiB"


def _memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
