"""Which old campaigns of a folder of reports leave it, with their runs, and what of them stays.

The newest campaign always stays, and so does one that may be under way. A run that was not as
expected, or was not judged, keeps everything unless the user gives it up; its campaign then keeps
its pages, and the other runs their verdicts and reports. Runs that no campaign made are not
touched, nor are runs that a campaign which stays has in its results, as a merged one has.
"""

import collections
import dataclasses
import datetime
import os
import pathlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import psutil

from harness import clocks, errors, writing
from harness.campaign.selection import failed_runs
from harness.history import campaign_folders, directories, files, report_folders, retention

SCHEMA_VERSION = 1
_BLOCK_BYTES = 512
"""Unit of `st_blocks`."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a folder of reports; None: no limit. A campaign beyond one of them leaves."""

    campaigns: int | None = None
    """Number of campaigns."""
    days: float | None = None
    """Days since the start of a campaign."""
    gib: float | None = None
    """GiB of all campaigns with their runs, counted from the newest one."""


class PrunedCampaign(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign beyond the limits."""

    name: str
    runs: list[str]
    """Run directories that are removed, as `<scenario>/<run>`."""
    emptied: list[str]
    """Those that lose their evidence, and keep verdict and report."""
    stays: list[str]
    """Those that keep everything: they were not as expected, or not judged."""
    bytes: int
    """Bytes on disk that this frees."""

    @property
    def is_whole(self) -> bool:
        """True if nothing of the campaign stays."""
        return not self.stays


class Pruning(msgspec.Struct, frozen=True, kw_only=True):
    """The campaigns of a folder that are beyond the limits, newest first."""

    schema: int = SCHEMA_VERSION
    reports: str
    limits: Limits
    is_done: bool = False
    """False: nothing was removed yet."""
    within: int
    """Number of campaigns within the limits."""
    staying: int = 0
    """Number of others that stay because of runs that were not as expected."""
    bytes: int
    """Bytes on disk that the removal frees."""
    campaigns: list[PrunedCampaign]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A campaign in the folder, with its runs."""

    folder: pathlib.Path
    runs: Mapping[pathlib.Path, int]
    """Run directories that name it -> bytes on disk."""
    bytes: int
    """Bytes on disk of its own folder."""

    @property
    def all_bytes(self) -> int:
        return self.bytes + sum(self.runs.values())


class _Plan(msgspec.Struct):
    """The part of a run's plan.json that names its campaign."""

    campaign: str = ""


def planned(reports: pathlib.Path, limits: Limits, *, with_failed: bool = False) -> Pruning:
    """Return what the limits remove; nothing is changed.

    `with_failed`: also runs that were not as expected, or not judged.
    """
    found = list(_campaigns(reports))
    beyond = [item for item in _beyond(found, limits) if not _may_be_under_way(item.folder)]
    within = [item for item in found if item not in beyond]
    needed = {place for item in within for place in _places_of_results(item.folder)}
    pruned = [_pruned(item, needed, with_failed=with_failed) for item in beyond]
    some = [item for item in pruned if item.bytes]
    return Pruning(
        reports=str(reports.resolve()),
        limits=limits,
        within=len(within),
        staying=sum(bool(item.stays) for item in pruned),
        bytes=sum(item.bytes for item in some),
        campaigns=some,
    )


def prune(pruning: Pruning) -> Pruning:
    """Remove what is planned; return it as done.

    A campaign's own folder goes last, so that one that is interrupted can be pruned again. Raises
    StorageError or UnwritableError.
    """
    reports = pathlib.Path(pruning.reports)
    for campaign in pruning.campaigns:
        for place in campaign.emptied:
            directory = directories.RunDirectory(reports / place)
            retention.remove(directory, reason="flake-hunt prune")
        folders = [reports / place for place in campaign.runs]
        if campaign.is_whole:
            folders.append(reports / campaign_folders.FOLDER / campaign.name)
        for folder in folders:
            with writing.explained(folder):
                shutil.rmtree(folder)
    _mend_latest(reports)
    return msgspec.structs.replace(pruning, is_done=True)


def _campaigns(reports: pathlib.Path) -> Iterator[_Found]:
    """Yield all campaigns, newest first."""
    runs: dict[str, dict[pathlib.Path, int]] = collections.defaultdict(dict)
    for path in report_folders.run_paths(reports):
        runs[_campaign_of(path)][path] = _bytes(path)
    folders = report_folders.folders(reports / campaign_folders.FOLDER)
    for folder in sorted(filter(campaign_folders.is_one, folders), reverse=True):
        yield _Found(folder=folder, runs=runs[folder.name], bytes=_bytes(folder))


def _campaign_of(run: pathlib.Path) -> str:
    """Return the name of the campaign that a run directory names; empty if it names none."""
    try:
        return msgspec.json.decode(files.read_small(run / "plan.json"), type=_Plan).campaign
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def _bytes(folder: pathlib.Path) -> int:
    """Return the bytes on disk of a folder; what is removed meanwhile has none."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in (".", *names):
            try:
                total += os.lstat(os.path.join(path, name)).st_blocks * _BLOCK_BYTES  # noqa: PTH118
            except FileNotFoundError:
                continue
    return total


def _beyond(found: Sequence[_Found], limits: Limits) -> Iterator[_Found]:
    """Yield the campaigns beyond a limit; `found` has the newest one first."""
    most = float("inf") if limits.gib is None else limits.gib * 2**30
    total = 0
    for number, item in enumerate(found):
        total += item.all_bytes
        is_old = limits.days is not None and _age_days(item.folder.name) > limits.days
        is_many = limits.campaigns is not None and number >= limits.campaigns
        if number > 0 and (is_old or is_many or total > most):
            yield item


def _age_days(name: str) -> float:
    """Return the days since the time with which a campaign's name begins; 0 if there is none."""
    try:
        started = datetime.datetime.strptime(name[:16], "%Y%m%dT%H%M%S%z")
    except ValueError:
        return 0
    return (clocks.wall_ns() / 1e9 - started.timestamp()) / 86400


def _may_be_under_way(folder: pathlib.Path) -> bool:
    """Return whether a campaign has not ended, and a process has the number of its process."""
    if (folder / campaign_folders.DOCUMENT).exists():
        return False
    try:
        plan = failed_runs.read(folder).plan
    except errors.HistoryError:
        return False
    return plan.boot_id == clocks.boot_id() and psutil.pid_exists(plan.pid)


def _places_of_results(folder: pathlib.Path) -> Iterator[str]:
    for run in campaign_folders.read(folder).runs:
        yield _place(run)


def _place(run: pathlib.Path) -> str:
    return f"{run.parent.name}/{run.name}"


def _pruned(item: _Found, needed: set[str], *, with_failed: bool) -> PrunedCampaign:
    expected = {_place(path) for path in item.runs} if with_failed else _expected(item.folder)
    runs = {path: size for path, size in item.runs.items() if _place(path) not in needed}
    leaving = {path: size for path, size in runs.items() if _place(path) in expected}
    stays = sorted(_place(path) for path in item.runs.keys() - leaving.keys())
    if not stays and (with_failed or _is_readable(item.folder)):
        freed = item.bytes + sum(leaving.values())
        return _result(item, runs=leaving, freed=freed)
    emptied = {path: left for path in leaving if (left := _evidence_bytes(path))}
    return _result(item, emptied=emptied, stays=stays, freed=sum(emptied.values()))


def _result(
    item: _Found,
    *,
    runs: Iterable[pathlib.Path] = (),
    emptied: Iterable[pathlib.Path] = (),
    stays: Iterable[str] = (),
    freed: int,
) -> PrunedCampaign:
    return PrunedCampaign(
        name=item.folder.name,
        runs=sorted(map(_place, runs)),
        emptied=sorted(map(_place, emptied)),
        stays=list(stays),
        bytes=freed,
    )


def _is_readable(folder: pathlib.Path) -> bool:
    try:
        failed_runs.read(folder)
    except errors.HistoryError:
        return False
    return True


def _expected(folder: pathlib.Path) -> set[str]:
    """Return the places of a campaign's runs that may go: as expected in the end, or cut."""
    try:
        earlier = failed_runs.read(folder)
    except errors.HistoryError:
        return set()
    kept = earlier.unexpected
    gone = (result for result in earlier.made if result.directory)
    return {_place(pathlib.Path(run.directory)) for run in gone if run.number not in kept}


def _evidence_bytes(run: pathlib.Path) -> int:
    """Return the bytes that the removal of a run's evidence frees; 0 if it was removed before."""
    directory = directories.RunDirectory(run)
    kept = retention.kept(directory)
    if not directory.verdict.is_file():
        return 0
    return sum(
        _bytes(path) if path.is_dir() else path.lstat().st_blocks * _BLOCK_BYTES
        for path in run.iterdir()
        if path.name not in kept
    )


def _mend_latest(reports: pathlib.Path) -> None:
    """Point `latest` at the newest run that is left, if that where it pointed is gone."""
    link = reports / "latest"
    if not link.is_symlink() or link.exists():
        return
    newest = max(report_folders.run_paths(reports), key=lambda run: run.name, default=None)
    if newest is None:
        link.unlink()
    else:
        directories.link_latest(reports, directories.RunDirectory(newest))
