"""How long runs took in earlier campaigns of a folder of reports."""

import pathlib
import statistics
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from harness import errors
from harness.history import campaign_folders, files, report_folders

Kind = tuple[str, str]
"""Scenario and subject: runs of one kind have one purpose, and take about the same time."""
CAMPAIGNS_MAX = 50
"""Newest campaigns whose durations are looked at."""


class _Result(msgspec.Struct):
    """The part of a line of results.jsonl that durations need (`results.RunResult`)."""

    scenario: str
    subject: str
    seconds: float
    number: int = 0
    error: str = ""
    cut: bool = False


def known(reports: pathlib.Path) -> dict[Kind, float]:
    """Return the median seconds of a run of each kind, with its further attempts.

    They come from the results of the newest campaigns in a folder of reports; damaged ones are
    left out.
    """
    found: dict[Kind, list[float]] = defaultdict(list)
    for campaign in _campaigns(reports):
        for what, seconds in _runs(campaign):
            found[what].append(seconds)
    return {what: round(statistics.median(each), 3) for what, each in found.items()}


def _runs(made: list[_Result]) -> Iterator[tuple[Kind, float]]:
    """Yield kind and seconds of each run; one that could not be executed, or was cut, has none."""
    spent: dict[tuple[Kind, int], float] = defaultdict(float)
    for line, result in enumerate(made):
        if not result.error and not result.cut and result.seconds > 0:
            number = result.number or -line  # in results of older versions
            spent[(result.scenario, result.subject), number] += result.seconds
    yield from ((what, seconds) for (what, _), seconds in spent.items())


def _campaigns(reports: pathlib.Path) -> Iterator[list[_Result]]:
    folders = sorted(report_folders.folders(reports / campaign_folders.FOLDER), reverse=True)
    for folder in folders[:CAMPAIGNS_MAX]:
        try:
            lines = files.read_small(folder / campaign_folders.RESULTS).splitlines()
            yield [msgspec.json.decode(line, type=_Result) for line in lines]
        except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
