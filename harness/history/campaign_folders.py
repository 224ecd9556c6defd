"""One campaign's folder: its plan, the runs that have ended, and how it ended."""

import os
import pathlib

import msgspec

from harness import errors
from harness.history import files
from harness.history import results as campaign_results

FOLDER = "campaigns"
"""Name of the folder of all campaigns in a folder of reports."""
PLAN = "campaign.json"
RESULTS = campaign_results.FILE
DOCUMENT = "results.json"
"""The table, the verdict and the exit code, written when the campaign has ended."""
INDEX = "index.html"
OPEN = "it is under way, or was interrupted"
"""The problem of a campaign that has not ended."""


class _Profile(msgspec.Struct):
    name: str = ""


class _Plan(msgspec.Struct):
    seed: int
    runs: list[msgspec.Raw]
    cluster: _Profile = msgspec.field(default_factory=_Profile)
    failed_in: str = ""


class _Document(msgspec.Struct):
    verdict: str
    summary: str
    rows: list[campaign_results.Row] = []


class CampaignFolder(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign."""

    path: pathlib.Path
    problem: str = ""
    """Why its plan or results cannot be read, or that it has not ended; empty: neither."""
    seed: int | None = None
    cluster: str = ""
    failed_in: str = ""
    """The campaign in which its runs had failed, which is why they were chosen; empty: no such
    choice was made."""
    planned: int = 0
    """Number of runs; further attempts of controls are not planned."""
    results: list[campaign_results.RunResult] = []
    verdict: str = ""
    """`VALID`, …, `ERROR`; empty: it has not ended, or an older version wrote it."""
    summary: str = ""
    rows: list[campaign_results.Row] = []
    """All runs of one scenario with one subject each; empty unless it has ended."""

    @property
    def runs(self) -> list[pathlib.Path]:
        """The run directories; they are also found when the whole folder of reports was moved."""
        return [self.directory_of(result) for result in self.results if result.directory]

    def directory_of(self, result: campaign_results.RunResult) -> pathlib.Path:
        return directory_in(self.path.parent.parent, result)


def directory_in(reports: pathlib.Path, result: campaign_results.RunResult) -> pathlib.Path:
    """Return the run directory of a result, also when its folder of reports is another one now."""
    given = pathlib.Path(result.directory)
    moved = reports / given.parent.name / given.name
    return moved if os.path.isdir(moved) or not os.path.isdir(given) else given  # noqa: PTH112 - never raises


def is_one(path: pathlib.Path) -> bool:
    return os.path.isfile(path / PLAN)  # noqa: PTH113 - never raises


def read(path: pathlib.Path) -> CampaignFolder:
    """Return the summary of a campaign's folder; a damaged one has a problem."""
    try:
        plan = files.decoded(files.read_small(path / PLAN), _Plan)
        made = campaign_results.read(path)
    except errors.HistoryError as error:
        return CampaignFolder(path=path, problem=f"it is damaged ({error})")
    try:
        document, problem = files.decoded(files.read_small(path / DOCUMENT), _Document), ""
    except errors.HistoryError:
        document, problem = _Document("", ""), _unended(path)
    return CampaignFolder(
        path=path,
        problem=problem,
        seed=plan.seed,
        cluster=plan.cluster.name,
        failed_in=plan.failed_in,
        planned=len(plan.runs),
        results=made,
        verdict=document.verdict,
        summary=document.summary,
        rows=document.rows,
    )


def require_unchosen(path: pathlib.Path) -> None:
    """Raise UsageError for a campaign whose runs were chosen because they had failed before.

    Their rates say nothing about others. A plan that cannot be read is the reader's matter.
    """
    if chosen := read(path).failed_in:
        raise errors.UsageError(
            f"expected runs that were not chosen by their outcome, but {path} has only those that "
            f"failed in {chosen} (--last-failed): their rates say nothing; name whole campaigns"
        )


def _unended(path: pathlib.Path) -> str:
    """Return why a campaign has no results.json that can be read; older versions wrote none."""
    if os.path.lexists(path / DOCUMENT):
        return "its results.json is damaged"
    return "" if (path / INDEX).is_file() else OPEN
