"""The rows of all runs and campaigns of a folder; what has not changed is read once."""

import dataclasses
import os
import pathlib
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from harness import errors
from harness.history import campaign_folders, report_folders, run_folders
from harness.report import escaping, reports_index
from harness.serving import served_folders

FRESH_S = 1.0
"""Seconds for which a look at the folder is good; longer where looking takes long."""
Signature: TypeAlias = tuple[object, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run in lists."""

    scenario: str
    """Name of the folder that it is in; the row has the scenario of its plan."""
    name: str
    row: reports_index.RunRow
    campaign: str
    """Name of its campaign; empty: it is of none."""
    is_open: bool
    """It has no verdict yet, and may be under way."""
    words: str
    """All that is to be read of it, in lower case."""

    @property
    def place(self) -> str:
        """Its path in the folder of reports."""
        return f"{self.scenario}/{self.name}"

    @property
    def is_expected(self) -> bool | None:
        """True if its verdict is as it should be; None: it has none."""
        return self.row.expected.startswith("✓") if self.row.expected else None


@dataclasses.dataclass(frozen=True, slots=True)
class Campaign:
    """One campaign in lists."""

    name: str
    row: reports_index.CampaignRow


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """The runs and campaigns of a folder, newest first."""

    runs: Sequence[Run] = ()
    campaigns: Sequence[Campaign] = ()
    unread: int = 0
    """Runs that are not read yet: the folder is large, and the server has just begun."""


class Listing:
    """The rows of a folder of reports; several threads may ask at once."""

    def __init__(self, reports: pathlib.Path) -> None:
        self._reports = reports
        self._guard = threading.Lock()
        self._runs: dict[str, tuple[Signature, Run | None]] = {}
        """Place -> what changes when the run does, and its row; None: it is no run."""
        self._changed: dict[str, Signature] = {}
        """Those that are still to be read, newest first."""
        self._campaigns: dict[str, tuple[Signature, Campaign]] = {}
        self._fresh_until_s = 0.0
        self._listed = Listed()

    def listed(self, *, at_most_s: float) -> Listed:
        """Return what there is; of runs that are new or changed, those that the time suffices for.

        The time is that of reading them: a look at an unchanged folder is always a whole one.
        """
        with self._guard:
            is_fresh = time.monotonic() < self._fresh_until_s
            if is_fresh and not self._changed:
                return self._listed
            is_other = bool(self._changed) if is_fresh else self._look()
            self._read(time.monotonic() + at_most_s)
            runs = self._sorted() if is_other else self._listed.runs
            campaigns = self._listed.campaigns if is_fresh else tuple(self._read_campaigns())
            unread = sum(place not in self._runs for place in self._changed)
            self._listed = Listed(runs, campaigns, unread)
            return self._listed

    def _look(self) -> bool:
        """Find the runs that are new or changed; return whether there is any, or one is gone."""
        begun_s = time.monotonic()
        found = dict(sorted(_found(self._reports), key=_by_name, reverse=True))
        gone = [place for place in self._runs if place not in found]
        for place in gone:
            del self._runs[place]
        none: tuple[Signature, None] = (), None
        self._changed = {
            place: signature
            for place, signature in found.items()
            if self._runs.get(place, none)[0] != signature
        }
        took_s = time.monotonic() - begun_s
        self._fresh_until_s = begun_s + min(max(FRESH_S, 4 * took_s), 4 * FRESH_S + took_s)
        return bool(gone or self._changed)

    def _read(self, until_s: float) -> None:
        for place in list(self._changed):
            if time.monotonic() > until_s:
                return
            self._runs[place] = self._changed.pop(place), _run(self._reports, place)

    def _sorted(self) -> tuple[Run, ...]:
        runs = [run for _, run in self._runs.values() if run is not None]
        return tuple(sorted(runs, key=lambda run: (run.row.started, run.name), reverse=True))

    def _read_campaigns(self) -> Iterable[Campaign]:
        folder = self._reports / campaign_folders.FOLDER
        names = (path.name for path in report_folders.folders(folder))
        watched = (campaign_folders.PLAN, campaign_folders.RESULTS, campaign_folders.DOCUMENT)
        before, self._campaigns = self._campaigns, {}
        for name in sorted(names, reverse=True):
            signature = _signature(folder / name, watched)
            if not campaign_folders.is_one(folder / name):
                continue
            known = before.get(name)
            if known is None or known[0] != signature:
                known = signature, _campaign(folder / name)
            self._campaigns[name] = known
            yield known[1]


def _found(reports: pathlib.Path) -> Iterator[tuple[str, Signature]]:
    """Yield `<scenario>/<run>` of all folders that may be runs, each with its signature.

    A folder changes when a file is created or replaced in it; a verdict may be written again.
    """
    for scenario in report_folders.folders(reports):
        if scenario.name == campaign_folders.FOLDER:
            continue
        for path in report_folders.folders(scenario):
            place = f"{scenario.name}/{path.name}"
            yield place, _signature(path, ("", "verdict.json"))


def _by_name(found: tuple[str, Signature]) -> tuple[str, str]:
    """Return the key by which runs are sorted: their names begin with the time."""
    scenario, _, name = found[0].partition("/")
    return name, scenario


def _signature(folder: pathlib.Path, names: Sequence[str]) -> Signature:
    """Return what changes when these files of a folder do."""
    found: list[object] = []
    for name in names:
        try:
            status = os.lstat(f"{folder}/{name}")
        except OSError:
            found.append(None)
        else:
            found += (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
    return tuple(found)


def _run(reports: pathlib.Path, place: str) -> Run | None:
    """Return a run; None: it is none, was removed meanwhile, or has a link in place of a file."""
    scenario, _, name = place.partition("/")
    try:
        if any((reports / place / file).is_symlink() for file in ("plan.json", "verdict.json")):
            return None
        found = run_folders.read(reports / place)
        row = reports_index.run_row(found, link=served_folders.address("runs", scenario, name))
    except (errors.RunDirectoryError, OSError):
        return None
    campaign = found.plan.campaign if found.plan else ""
    shown = (scenario, name, row.scenario, row.subject, row.cluster, row.reason, row.verdict)
    return Run(
        scenario=scenario,
        name=name,
        row=row,
        campaign=campaign,
        is_open=found.state is run_folders.State.UNFINISHED,
        words=escaping.visible("\n".join(shown)).lower(),
    )


def _campaign(path: pathlib.Path) -> Campaign:
    watched = (campaign_folders.RESULTS, campaign_folders.DOCUMENT)
    if any((path / name).is_symlink() for name in watched):
        found = campaign_folders.CampaignFolder(path=path, problem="a file of it is a link")
    else:
        found = campaign_folders.read(path)
    link = served_folders.address("campaigns", path.name)
    return Campaign(path.name, reports_index.campaign_row(found, link=link))
