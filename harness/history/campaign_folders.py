"""One campaign's folder: its plan, the runs that have ended, and how it ended."""

import os
import pathlib

import msgspec

from harness import errors
from harness.history import files

FOLDER = "campaigns"
"""Name of the folder of all campaigns in a folder of reports."""
PLAN = "campaign.json"
RESULTS = "results.jsonl"
"""The results of the runs, in the order in which they came."""
DOCUMENT = "results.json"
"""The table, the verdict and the exit code, written when the campaign has ended."""
INDEX = "index.html"
_DECODING = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a line of results.jsonl that summaries need (`results.RunResult`)."""

    scenario: str
    subject: str
    purpose: str = "subject"
    directory: str = ""
    verdict: str | None = None
    error: str = ""
    cut: bool = False
    """The time of the campaign ended during the run, which counts nowhere."""
    reason: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a row of results.json that summaries need (`campaign_documents.Row`)."""

    scenario: str
    subject: str
    purpose: str = "subject"
    hypothesis: str = ""
    caught: int = 0
    invalid: int = 0
    """Runs with a violation."""
    conclusive: int = 0
    """Runs that are VALID or INVALID."""


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
    rows: list[Row] = []


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
    results: list[Result] = []
    is_cut: bool = False
    """The last result was not written whole, and is none of them."""
    verdict: str = ""
    """`VALID`, …, `ERROR`; empty: it has not ended, or an older version wrote it."""
    summary: str = ""
    rows: list[Row] = []
    """All runs of one scenario with one subject each; empty unless it has ended."""

    @property
    def runs(self) -> list[pathlib.Path]:
        """The run directories; they are also found when the whole folder of reports was moved."""
        return [self.directory_of(result) for result in self.results if result.directory]

    def directory_of(self, result: Result) -> pathlib.Path:
        given = pathlib.Path(result.directory)
        moved = self.path.parent.parent / given.parent.name / given.name
        return moved if os.path.isdir(moved) else given  # noqa: PTH112 - never raises


def is_one(path: pathlib.Path) -> bool:
    """Return whether a path is the folder of a campaign."""
    return os.path.isfile(path / PLAN)  # noqa: PTH113 - never raises


def read(path: pathlib.Path) -> CampaignFolder:
    """Return the summary of a campaign's folder; a damaged one has a problem."""
    try:
        plan = msgspec.json.decode(files.read_small(path / PLAN), type=_Plan)
        results, is_cut = _results(path / RESULTS)
    except (errors.HistoryError, *_DECODING) as error:
        return CampaignFolder(path=path, problem=f"it is damaged ({error})")
    document = _document(path)
    return CampaignFolder(
        path=path,
        problem="" if document else _unended(path),
        seed=plan.seed,
        cluster=plan.cluster.name,
        failed_in=plan.failed_in,
        planned=len(plan.runs),
        results=results,
        is_cut=is_cut,
        verdict=document.verdict if document else "",
        summary=document.summary if document else "",
        rows=document.rows if document else [],
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


def _results(path: pathlib.Path) -> tuple[list[Result], bool]:
    """Return the results, and whether a last line that was not written whole is left out."""
    if not os.path.lexists(path):
        return [], False
    whole, _, cut = files.read_small(path).rpartition(b"\n")
    lines = filter(None, whole.split(b"\n"))
    return [msgspec.json.decode(line, type=Result) for line in lines], bool(cut)


def _document(path: pathlib.Path) -> _Document | None:
    try:
        return msgspec.json.decode(files.read_small(path / DOCUMENT), type=_Document)
    except (errors.HistoryError, *_DECODING):
        return None


def _unended(path: pathlib.Path) -> str:
    """Return why a campaign has no results.json that can be read; older versions wrote none."""
    if os.path.lexists(path / DOCUMENT):
        return "its results.json is damaged"
    return "" if (path / INDEX).is_file() else "it is under way, or was interrupted"
