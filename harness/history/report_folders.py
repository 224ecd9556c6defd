"""A folder of reports: every run and campaign in it, newest first."""

import itertools
import os
import pathlib
from collections.abc import Iterator

from harness.history import campaign_folders, run_folders

RUNS_MAX = 10_000
"""Most runs that are listed; older ones are counted only."""
CAMPAIGNS_MAX = 1_000


class ReportFolder:
    """The runs and campaigns of a folder of reports, read when they are asked for."""

    def __init__(self, path: pathlib.Path) -> None:
        self._runs = sorted(run_paths(path), key=lambda run: run.name, reverse=True)
        self._campaigns = sorted(
            filter(campaign_folders.is_one, folders(path / campaign_folders.FOLDER)),
            key=lambda item: item.name,
            reverse=True,
        )

    @property
    def runs_left_out(self) -> int:
        return max(len(self._runs) - RUNS_MAX, 0)

    @property
    def campaigns_left_out(self) -> int:
        return max(len(self._campaigns) - CAMPAIGNS_MAX, 0)

    def runs(self) -> Iterator[run_folders.RunFolder]:
        for path in itertools.islice(self._runs, RUNS_MAX):
            if (path / "plan.json").is_file():
                yield run_folders.read(path)

    def campaigns(self) -> Iterator[campaign_folders.CampaignFolder]:
        yield from map(campaign_folders.read, itertools.islice(self._campaigns, CAMPAIGNS_MAX))


def run_paths(reports: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield `<reports>/<scenario>/<run>`; their names begin with the time of their start."""
    for scenario in folders(reports):
        if scenario.name != campaign_folders.FOLDER:
            yield from (run for run in folders(scenario) if (run / "plan.json").is_file())


def folders(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the folders in a folder, without links (`latest` is one); nothing if there is none."""
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    yield from (path / name for name in names)
