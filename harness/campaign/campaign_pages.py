"""Writes the files of a campaign that has ended: results.json, index.html and summary.md."""

import dataclasses
import os
import pathlib
import shlex
import urllib.parse
from collections.abc import Mapping, Sequence

import msgspec

from harness import writing
from harness.campaign import campaign_documents, campaign_plan, results, summaries
from harness.checks import verdicts
from harness.history import campaign_folders, run_folders
from harness.report import page_templates
from harness.statistics import rates

ERROR = "ERROR"
"""The word for a run that could not be executed."""
LINKED_MAX = 12
"""Runs of a row that have links in it; the table of runs has all."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IndexedRun:
    """One run in the index of a campaign."""

    verdict: str
    symbol: str
    reason: str
    link: str
    """Path of its report, relative to the index; empty without a report."""
    seconds: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """All runs of one scenario and one subject."""

    purpose: str
    """Heading of this part of the table: `tested subject`, `positive controls`, …"""
    scenario: str
    hypothesis: str
    """Name of the hazard, such as `H1`; empty if the scenario has none."""
    subject: str
    is_as_expected: bool
    verdict: str
    caught: int | None
    """Number of runs that found what they must find; None where nothing must be found."""
    rate: rates.Rate
    """INVALID among the runs that are VALID or INVALID."""
    claims: int
    double_allocations: int
    stuck: int
    seconds: float
    runs: Sequence[IndexedRun]

    @property
    def interval(self) -> str:
        """The exact interval of the rate, in percent; empty without conclusive runs."""
        if not self.rate.runs:
            return ""
        low, high = self.rate.interval
        return f"{low * 100:.0f}–{high * 100:.0f} %"

    @property
    def unexpected(self) -> str:
        """Why the row is not as expected, as text; meaningless if it is."""
        if not self.runs:
            return "it has no runs"
        if self.caught == 0:
            last = self.runs[-1]
            made = verdicts.counted(len(self.runs), "run")
            return f"not found in {made}; the last one was {last.verdict}: {last.reason}"
        broken = [run for run in self.runs if run.verdict == ERROR]
        worst = broken or [run for run in self.runs if run.verdict == self.verdict]
        [first, *more] = worst or self.runs
        others = (
            f"; so are {len(more)} more" if len(more) > 1 else "; so is one more" if more else ""
        )
        return f"{first.verdict}: {first.reason}{others}"


def symbol(verdict: verdicts.Verdict | None) -> str:
    """Return the symbol of a run's verdict; None: it could not be executed."""
    return page_templates.SYMBOLS[verdict] if verdict is not None else "!"


def render(
    path: pathlib.Path,
    rows: Sequence[IndexRow],
    *,
    verdict: verdicts.Verdict,
    facts: Mapping[str, str],
    command: Sequence[str] = (),
    summary: str,
    decisions: Sequence[str] = (),
    problems: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> None:
    """Write the index page atomically; `facts` are shown at its head, with their names.

    `decisions` are the answers of a question about rates, `problems` those of a merge of shards,
    each in a sentence; `notes` say what a time budget left out.
    """
    found = {row.verdict for row in rows} | {run.verdict for row in rows for run in row.runs}
    subjects = sorted({row.subject for row in rows})
    text = (
        page_templates.templates()
        .get_template("campaign.html.j2")
        .render(
            rows=rows,
            unexpected=[
                (row, f"row-{number}")
                for number, row in enumerate(rows, start=1)
                if not row.is_as_expected
            ],
            verdict=verdict,
            symbol=page_templates.SYMBOLS[verdict],
            facts=facts,
            command=shlex.join(["flake-hunt", *command]) if command else "",
            summary=summary,
            decisions=decisions,
            problems=problems,
            notes=notes,
            verdicts=sorted(found),
            subjects=subjects,
            linked_max=LINKED_MAX,
        )
    )
    writing.replace(path, text.encode())


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
    render(
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


def _index_row(row: results.Row, folder: pathlib.Path) -> IndexRow:
    return IndexRow(
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


def _index_run(run: results.RunResult, folder: pathlib.Path) -> IndexedRun:
    report = pathlib.Path(run.directory) / "report.html"
    is_here = run.directory and "://" not in run.directory  # a merged run can be elsewhere
    return IndexedRun(
        verdict=str(run.verdict or ERROR),
        symbol=symbol(run.verdict),
        reason=run.error or run.reason,
        link=urllib.parse.quote(os.path.relpath(report, folder)) if is_here else "",
        seconds=run.seconds,
    )
