"""Reads a campaign that has ended as a night: its results, and the figures of its runs."""

import hashlib
import os
import pathlib
from collections.abc import Iterable, Iterator

import msgspec

from harness import errors
from harness.campaign import results
from harness.campaign.purposes import Purpose
from harness.checks import verdicts
from harness.comparison import setting_differences
from harness.comparison.trends import night_series
from harness.history import campaign_folders, files, report_folders, run_folders

_DECODING = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Row(msgspec.Struct):
    runs: list[results.RunResult]


class _Document(msgspec.Struct):
    """The part that a night needs of results.json (`campaign_documents.CampaignDocument`)."""

    seed: int
    verdict: str
    exit_code: int
    summary: str
    started: str
    cluster: str
    versions: dict[str, str]
    rows: list[_Row]


def campaigns(paths: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """Return the campaigns that paths name: themselves, or all in a folder of reports.

    Raises UsageError for a path that is neither.
    """
    return [found for path in paths for found in _campaigns(path)]


def _campaigns(path: pathlib.Path) -> list[pathlib.Path]:
    if campaign_folders.is_one(path) or os.path.isfile(path / campaign_folders.DOCUMENT):  # noqa: PTH113 - never raises
        return [path]
    folders = report_folders.folders(path / campaign_folders.FOLDER)
    found = sorted(filter(campaign_folders.is_one, folders))
    if not found:
        raise errors.UsageError(
            f"expected a campaign or a folder of reports with campaigns, but {path} is neither: "
            "name reports/campaigns/<campaign> or reports"
        )
    return found


def is_night(path: pathlib.Path) -> bool:
    """Return whether a campaign has ended, and no outcome has chosen its runs."""
    try:
        campaign_folders.require_unchosen(path)
    except errors.UsageError:
        return False
    return os.path.isfile(path / campaign_folders.DOCUMENT)  # noqa: PTH113 - never raises


def read(path: pathlib.Path) -> night_series.Night:
    """Return the night of a campaign.

    Raises UsageError if its results are missing, damaged or without a time, or chosen by outcome.
    """
    campaign_folders.require_unchosen(path)
    try:
        document = msgspec.json.decode(
            files.read_small(path / campaign_folders.DOCUMENT), type=_Document
        )
    except (errors.HistoryError, *_DECODING) as error:
        raise errors.UsageError(
            f"expected the results of a campaign in {path}, but results.json cannot be used "
            f"({error}): name a campaign that has ended"
        ) from error
    if not document.started:
        raise errors.UsageError(
            f"expected a campaign with the time of its start, but {path} has none: it was made by "
            "an older version"
        )
    made = [run for row in document.rows for run in row.runs]
    if document.verdict == "VALID" and results.verdict(results.rows(made)) != "VALID":
        raise errors.UsageError(
            f"expected results of a campaign that agree, but results.json in {path} says VALID, and "
            "its runs do not: it was edited; make the campaign again"
        )
    return night_series.Night(
        identity=f"{document.started} {document.seed} {document.cluster}",
        digest=_digest(made),
        started=document.started,
        cluster=document.cluster,
        seed=document.seed,
        verdict=document.verdict,
        exit_code=document.exit_code,
        summary=document.summary,
        commit=document.versions.get("commit", ""),
        versions=document.versions,
        runs=list(_runs(document.rows, path)),
    )


def _digest(made: Iterable[results.RunResult]) -> str:
    """Return the digest of results, whatever their order and wherever their directories are."""
    lines = sorted(
        msgspec.json.encode(
            [
                run.scenario,
                run.subject,
                run.purpose,
                run.number,
                run.attempt,
                run.verdict,
                pathlib.PurePath(run.directory).name,
            ]
        )
        for run in made
    )
    whole = hashlib.sha256(b"\n".join(lines))
    return f"sha256:{whole.hexdigest()}"


def _runs(rows: Iterable[_Row], path: pathlib.Path) -> Iterator[night_series.NightRun]:
    for row in rows:
        spent = 0.0
        for run in row.runs:
            if not run.missing:
                spent = run.seconds + (spent if run.attempt else 0.0)
                yield _run(run, path, spent if run.purpose.must_fail and run.is_found else None)


def _run(
    run: results.RunResult, path: pathlib.Path, detected_s: float | None
) -> night_series.NightRun:
    found = _folder(run, path)
    figures = found.verdict.figures if found is not None and found.verdict is not None else None
    verdict = _verdict(run, found)
    is_conclusive = verdict not in (night_series.ERROR, "UNKNOWN")
    # A run that ends at its first violation measures another load.
    is_measured = figures is not None and is_conclusive and not run.purpose.must_fail
    measured = figures if is_measured else None
    return night_series.NightRun(
        scenario=run.scenario,
        subject=run.subject,
        purpose=Purpose(run.purpose),
        verdict=verdict,
        seconds=run.seconds,
        load=_load(found.plan) if found is not None and found.plan is not None else "",
        violations=run.double_allocations + run.stuck + run.others,
        allocations_per_s=measured.allocations_per_s if measured else None,
        claim_p50_ms=measured.claim_to_allocation.p50_ms if measured else None,
        claim_p99_ms=measured.claim_to_allocation.p99_ms if measured else None,
        pod_p50_ms=measured.pod_to_running.p50_ms if measured else None,
        pod_p99_ms=measured.pod_to_running.p99_ms if measured else None,
        detected_s=detected_s,
    )


def _verdict(run: results.RunResult, found: run_folders.RunFolder | None) -> str:
    """Return the verdict of a run; the worse one if its directory is there and says another."""
    if run.verdict is None:
        return night_series.ERROR
    if found is None:
        return str(run.verdict)
    told = verdicts.Verdict.UNKNOWN if found.verdict is None else found.verdict.verdict
    return str(verdicts.worst([run.verdict, told]))


def _load(plan: run_folders.Plan) -> str:
    load = sorted(setting_differences.load_of(plan).items())
    whole = msgspec.json.encode([load, plan.jobs])
    return hashlib.sha256(whole).hexdigest()[:16]


def _folder(run: results.RunResult, path: pathlib.Path) -> run_folders.RunFolder | None:
    """Return the directory of a run; None if it is gone."""
    if not run.directory:
        return None
    given = pathlib.Path(run.directory)
    moved = path.resolve().parent.parent / given.parent.name / given.name
    try:
        return run_folders.read(moved if moved.is_dir() else given)
    except errors.RunDirectoryError:
        return None
