"""The rows of all runs and campaigns of a folder; what has not changed is read once."""

import os
import pathlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from harness import errors
from harness.history import campaign_folders, report_folders, run_folders
from harness.report import reports_index
from harness.report.reports_index import CampaignRow, RunRow
from harness.serving import served_folders

FRESH_S = 1.0
"""Seconds for which a look at the folder is good; longer where looking takes long."""
Signature: TypeAlias = tuple[object, ...]
_OF_RUN = ("", "verdict.json")
"""Files that change with a run: its folder does when a file is created or replaced in it, and a
verdict may be written again."""
_OF_CAMPAIGN = (
    campaign_folders.PLAN,
    campaign_folders.RESULTS,
    campaign_folders.DOCUMENT,
    campaign_folders.INDEX,
)


class Listed(NamedTuple):
    """The runs and campaigns of a folder, newest first."""

    runs: Sequence[RunRow] = ()
    campaigns: Sequence[CampaignRow] = ()


class Listing:
    """The rows of a folder of reports; several threads may ask at once."""

    def __init__(self, reports: pathlib.Path) -> None:
        self._reports = reports
        self._guard = threading.Lock()
        self._known: dict[str, tuple[Signature, RunRow | CampaignRow | None]] = {}
        """Place -> what changes when the run or campaign does, and its row; None: it is none."""
        self._fresh_until_s = 0.0
        self._listed = Listed()

    def listed(self) -> Listed:
        """Return what there is; the first time, every run is read."""
        with self._guard:
            begun_s = time.monotonic()
            if begun_s > self._fresh_until_s:
                self._look()
                took_s = time.monotonic() - begun_s
                self._fresh_until_s = begun_s + took_s + min(max(FRESH_S, 3 * took_s), 4 * FRESH_S)
            return self._listed

    def _look(self) -> None:
        known, none = self._known, ((), None)
        self._known = {
            place: known[place]
            if known.get(place, none)[0] == signature
            else (signature, _row(self._reports, place))
            for place, signature in _found(self._reports)
        }
        rows = [row for _, row in self._known.values()]
        runs = [row for row in rows if isinstance(row, RunRow)]
        campaigns = [row for row in rows if isinstance(row, CampaignRow)]
        self._listed = Listed(
            sorted(runs, key=lambda row: (row.started, row.name), reverse=True),
            sorted(campaigns, key=lambda row: row.name, reverse=True),
        )


def _found(reports: pathlib.Path) -> Iterator[tuple[str, Signature]]:
    """Yield `<scenario>/<run>` and `campaigns/<name>` of all folders, each with its signature."""
    for folder in report_folders.folders(reports):
        watched = _OF_CAMPAIGN if folder.name == campaign_folders.FOLDER else _OF_RUN
        for path in report_folders.folders(folder):
            yield f"{folder.name}/{path.name}", tuple(_signature(path, watched))


def _signature(folder: pathlib.Path, names: Sequence[str]) -> Iterator[object]:
    for name in names:
        try:
            status = os.lstat(f"{folder}/{name}")
        except OSError:
            yield None
        else:
            yield status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode


def _row(reports: pathlib.Path, place: str) -> RunRow | CampaignRow | None:
    """Return a row; None: it is no run, was removed meanwhile, or has a link in place of a file."""
    path = reports / place
    if path.parent.name == campaign_folders.FOLDER:
        return _campaign(path) if campaign_folders.is_one(path) else None
    try:
        if any((path / file).is_symlink() for file in ("plan.json", "verdict.json")):
            return None
        return reports_index.run_row(run_folders.read(path), link=_link(path / "report.html"))
    except (errors.RunDirectoryError, OSError):
        return None


def _campaign(path: pathlib.Path) -> CampaignRow:
    if any((path / name).is_symlink() for name in _OF_CAMPAIGN[1:]):
        found = campaign_folders.CampaignFolder(path=path, problem="a file of it is a link")
    else:
        found = campaign_folders.read(path)
    return reports_index.campaign_row(found, link=_link(path / campaign_folders.INDEX))


def _link(page: pathlib.Path) -> str:
    """Return the address of a page of a run or campaign; empty if it has none yet."""
    is_own = page.is_file() and not page.is_symlink()
    return served_folders.address("files", *page.parts[-3:]) if is_own else ""
