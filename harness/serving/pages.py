"""The lists of runs and campaigns; each links to the report of what it names."""

import asyncio
import collections
import contextlib
import functools
import math
import os
import pathlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from aiohttp import web

from harness.history import campaign_folders, report_folders, run_folders
from harness.report import escaping, reports_index
from harness.report.reports_index import CampaignRow, RunRow
from harness.serving import served_folders, sites

T = TypeVar("T")
PAGE_ROWS = 100
CHOICES = ("verdict", "scenario", "subject", "purpose")
"""The filters of which a page shows all values."""
EXPECTED = {"yes": "as expected", "no": "not as expected", "none": "without a verdict"}
_WORDS = {True: "yes", False: "no", None: "none"}
_VALUES: Mapping[str, Callable[[RunRow], str]] = {
    "verdict": lambda run: escaping.visible(run.verdict),
    "subject": lambda run: escaping.visible(run.subject),
    "scenario": lambda run: escaping.visible(run.scenario),
    "purpose": lambda run: run.purpose,
    "campaign": lambda run: escaping.visible(run.campaign),
    "expected": lambda run: _WORDS[run.is_expected],
}
"""Key of an address -> the value that a run must have, as pages show it."""
_NAMES = (*_VALUES, "text")


class Filters(dict[str, str]):
    """The values that the runs of a list have in common, by their keys; empty means all."""

    def __missing__(self, name: str) -> str:
        return ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filters":
        return cls({name: query[name] for name in _NAMES if query.get(name)})

    def chosen(self, runs: Iterable[RunRow]) -> list[RunRow]:
        wanted = [(read, value) for name, read in _VALUES.items() if (value := self[name])]
        text = self["text"].lower()
        return [
            run
            for run in runs
            if all(read(run) == value for read, value in wanted)
            and (not text or text in escaping.visible(run.words).lower())
        ]


class Page(NamedTuple, Generic[T]):
    """One page of a list."""

    items: Sequence[T]
    number: int
    """From 1."""
    pages: int
    first: int
    """Number of its first item, from 1; 0: there is none."""
    total: int


def page(items: Sequence[T], number: str) -> Page[T]:
    """Return the page with a number that an address names; the nearest one if there is no such."""
    pages = max(math.ceil(len(items) / PAGE_ROWS), 1)
    is_number = number.isascii() and number.isdigit() and len(number) < 9
    chosen = min(max(int(number) if is_number else 1, 1), pages)
    begun = (chosen - 1) * PAGE_ROWS
    first = begun + 1 if items else 0
    return Page(items[begun : begun + PAGE_ROWS], chosen, pages, first, len(items))


def runs(reports: pathlib.Path) -> Iterator[RunRow]:
    """Yield the rows of all runs, newest first, but for those with a link in place of a file."""
    paths = sorted(report_folders.run_paths(reports), key=lambda path: path.name, reverse=True)
    for path in paths[: report_folders.RUNS_MAX]:
        changed = tuple(map(_status, (path, path / "verdict.json")))
        if (row := _row(path, changed)) is not None:
            yield row


@functools.lru_cache(maxsize=report_folders.RUNS_MAX)
def _row(path: pathlib.Path, changed: Hashable) -> RunRow | None:
    """Return the row of a run; it is read again when `changed` is another value."""
    del changed
    if any((path / name).is_symlink() for name in ("plan.json", "verdict.json")):
        return None
    return reports_index.run_row(run_folders.read(path), link=_link(path / "report.html"))


def _status(path: pathlib.Path) -> Hashable:
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode
    return None


def campaigns(reports: pathlib.Path) -> Iterator[CampaignRow]:
    for found in report_folders.ReportFolder(reports).campaigns():
        path, names = found.path, (campaign_folders.RESULTS, campaign_folders.DOCUMENT)
        if any((path / name).is_symlink() for name in (*names, campaign_folders.INDEX)):
            yield reports_index.campaign_row(
                campaign_folders.CampaignFolder(path=path, problem="a file of it is a link"),
                link="",
            )
        else:
            yield reports_index.campaign_row(found, link=_link(path / campaign_folders.INDEX))


def _link(page: pathlib.Path) -> str:
    """Return the address of a page of a run or campaign; empty if it has none yet."""
    is_own = page.is_file() and not page.is_symlink()
    return served_folders.address("files", *page.parts[-3:]) if is_own else ""


def of_runs(listed: Sequence[RunRow], parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return what the list of runs shows for the parameters of an address."""
    filters = Filters.of(parameters)
    counts = {name: collections.Counter(map(_VALUES[name], listed)) for name in CHOICES}
    return {
        "filters": filters,
        "choices": {
            name: sorted(item for item in found.items() if item[0])
            for name, found in counts.items()
        },
        "expected_words": EXPECTED,
        "all_count": len(listed),
        "page": page(filters.chosen(listed), parameters.get("page", "")),
    }


async def answer_runs(request: web.Request) -> web.Response:
    listed = await asyncio.to_thread(lambda: list(runs(sites.of(request).path)))
    return sites.page("runs.html.j2", **of_runs(listed, request.query))


async def answer_campaigns(request: web.Request) -> web.Response:
    listed = await asyncio.to_thread(lambda: list(campaigns(sites.of(request).path)))
    shown = page(listed, request.query.get("page", ""))
    return sites.page("campaigns.html.j2", page=shown)
