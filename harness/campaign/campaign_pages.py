"""Writes the files of a campaign that has ended: results.json, index.html and summary.md."""

import os
import pathlib
import urllib.parse
from collections.abc import Sequence

import msgspec

from harness import writing
from harness.campaign import campaign_documents, campaign_plan, results, summaries
from harness.checks import verdicts
from harness.history import campaign_folders, run_folders
from harness.report import campaign_index

SUMMARY = "summary.md"
"""Name of the summary for a pull request."""


def publish(
    table: Sequence[results.Row],
    plan: campaign_plan.CampaignPlan,
    folder: pathlib.Path,
    problems: Sequence[str] = (),
    *,
    cut: Sequence[results.RunResult] = (),
    is_interrupted: bool = False,
) -> campaign_documents.CampaignDocument:
    """Write the files and return the document in results.json; `problems` are those of a merge.

    `cut`, `is_interrupted`: see `campaign_documents.document`. Raises StorageError or
    UnwritableError if they cannot be written.
    """
    document = campaign_documents.document(
        table, plan, folder, problems, cut=cut, is_interrupted=is_interrupted
    )
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    writing.replace(folder / campaign_folders.DOCUMENT, content)
    _write_index(table, document, folder)
    text = summaries.campaign(
        table,
        headline=document.headline,
        seed=plan.seed,
        answers=[*document.sentences, *document.problems],
    )
    writing.replace(folder / SUMMARY, text.encode())
    return document


def _write_index(
    table: Sequence[results.Row],
    document: campaign_documents.CampaignDocument,
    folder: pathlib.Path,
) -> None:
    campaign_index.render(
        folder / campaign_folders.INDEX,
        [_index_row(row, folder) for row in table],
        verdict=_verdict(document, table),
        facts=_facts(document, table),
        command=document.command,
        summary=document.summary,
        decisions=document.answers,
        problems=document.problems,
        notes=document.notes,
    )


def _verdict(
    document: campaign_documents.CampaignDocument, table: Sequence[results.Row]
) -> verdicts.Verdict:
    """Return the verdict of the page, which has none for a harness error."""
    is_one = document.verdict in list(verdicts.Verdict)
    return verdicts.Verdict(document.verdict) if is_one else results.verdict(table)


def _facts(
    document: campaign_documents.CampaignDocument, table: Sequence[results.Row]
) -> dict[str, str]:
    """Return name -> value for the head of the page; unknown facts are left out."""
    facts = {
        "seed": str(document.seed),
        "started": document.started,
        "cluster": document.cluster,
        "runs": _runs(document, table),
        "jobs": str(document.jobs or ""),
        **{name: document.versions.get(name, "") for name in ("flake-hunt", "commit", "python")},
        **{name: text for name, text in document.versions.items() if name.startswith("scheduler")},
        **_cluster_versions(table),
    }
    return {name: text for name, text in facts.items() if text}


def _runs(document: campaign_documents.CampaignDocument, table: Sequence[results.Row]) -> str:
    made = sum(len(row.runs) for row in table)
    if document.minutes:
        return f"{made} in a time budget of {document.minutes:g} minutes"
    return f"{made} ({document.planned} planned)"


def _cluster_versions(table: Sequence[results.Row]) -> dict[str, str]:
    """Return the versions of the cluster of the first run that recorded some."""
    folders = (run.directory for row in table for run in row.runs if run.directory)
    found = (run_folders.cluster_versions(pathlib.Path(folder)) for folder in folders)
    return next(filter(None, found), {})


def _index_row(row: results.Row, folder: pathlib.Path) -> campaign_index.IndexRow:
    return campaign_index.IndexRow(
        scenario=row.scenario,
        subject=row.subject,
        is_as_expected=row.is_as_expected,
        verdict=str(row.verdict),
        purpose=row.purpose.heading,
        hypothesis=row.hypothesis,
        caught=row.caught if row.purpose.must_fail else None,
        rate=campaign_documents.rate(row),
        claims=row.claims,
        double_allocations=row.double_allocations,
        stuck=row.stuck,
        seconds=row.seconds,
        runs=[_index_run(run, folder) for run in row.runs],
    )


def _index_run(run: results.RunResult, folder: pathlib.Path) -> campaign_index.IndexedRun:
    report = pathlib.Path(run.directory) / "report.html"
    is_here = run.directory and "://" not in run.directory  # a merged run can be elsewhere
    return campaign_index.IndexedRun(
        verdict=str(run.verdict or campaign_index.ERROR),
        symbol=campaign_index.symbol(run.verdict),
        reason=run.error or run.reason,
        link=urllib.parse.quote(os.path.relpath(report, folder)) if is_here else "",
        seconds=run.seconds,
    )
