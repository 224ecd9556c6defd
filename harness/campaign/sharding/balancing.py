"""Divides runs among shards so that these take the same time, as far as that is known."""

import heapq
import pathlib
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from harness import errors
from harness.history import campaign_folders, files, report_folders

Kind = tuple[str, str]
"""Scenario and subject: runs of one kind take about the same time."""
CAMPAIGNS_MAX = 50
"""Newest campaigns whose durations are looked at."""
_UNKNOWN_S = 1.0
"""Weight of every run if no duration is known: each shard then gets as many runs."""


class _Result(msgspec.Struct):
    """The part of a line of results.jsonl that durations need (`results.RunResult`)."""

    scenario: str
    subject: str
    seconds: float
    attempt: int = 0
    error: str = ""


def kind(scenario: str, subject: str) -> Kind:
    """Return the kind of a run."""
    return scenario, subject


def assign(expected: Sequence[float | None], shards: int) -> list[int]:
    """Return the number of the shard of each run, from 1.

    `expected` are the seconds of each run; None: not known, which counts as the median of the
    known ones. The longest runs go first, each to the shard with the least work so far; of equal
    ones the first, so that runs of equal weight are dealt in turn.
    """
    known = [seconds for seconds in expected if seconds is not None]
    unknown = statistics.median(known) if known else _UNKNOWN_S
    weights = [unknown if seconds is None else seconds for seconds in expected]
    work = [(0.0, shard) for shard in range(1, shards + 1)]
    numbers = [0] * len(weights)
    for index in sorted(range(len(weights)), key=lambda index: (-weights[index], index)):
        spent, shard = work[0]
        numbers[index] = shard
        heapq.heapreplace(work, (spent + weights[index], shard))
    return numbers


def known_durations(reports: pathlib.Path) -> dict[Kind, float]:
    """Return the mean seconds of a run of each kind, with its further attempts.

    They come from the results of the newest campaigns in a folder of reports; damaged ones are
    left out.
    """
    spent: dict[Kind, float] = defaultdict(float)
    runs: dict[Kind, int] = defaultdict(int)
    for result in _results(reports):
        spent[result.scenario, result.subject] += result.seconds
        runs[result.scenario, result.subject] += result.attempt == 0
    return {what: round(spent[what] / count, 3) for what, count in runs.items() if count}


def _results(reports: pathlib.Path) -> Iterator[_Result]:
    folders = sorted(report_folders.folders(reports / campaign_folders.FOLDER), reverse=True)
    for folder in folders[:CAMPAIGNS_MAX]:
        try:
            lines = files.read_small(folder / campaign_folders.RESULTS).splitlines()
            found = [msgspec.json.decode(line, type=_Result) for line in lines]
        except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        yield from (result for result in found if not result.error and result.seconds > 0)
