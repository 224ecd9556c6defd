"""Writes the files of a campaign that has ended: results.json, index.html and summary.md."""

import os
import pathlib
import shlex
import urllib.parse
from collections.abc import Sequence

import msgspec

from harness import rates, writing
from harness.campaign import campaign_documents, campaign_plan, junit_files
from harness.campaign.budgets import Ending
from harness.checks import verdicts
from harness.history import campaign_folders, results, run_folders, subject_names
from harness.report import escaping, page_templates

ERROR = "ERROR"
"""The word for a run that could not be executed."""
LINKED_MAX = 12
"""Runs of a row that have links in it; the table of runs has all."""


def interval(row: results.Row) -> str:
    """Return the exact interval of the rate, in percent; empty without conclusive runs."""
    return f"{rates.span(row.low, row.high, '–')} %" if row.conclusive else ""


def word(run: results.RunResult) -> str:
    return str(run.verdict or ERROR)


def unexpected(row: results.Row) -> str:
    """Return why a row is not as expected, as text; meaningless if it is."""
    if not row.runs:
        return "it has no runs"
    if row.purpose.must_fail and not row.caught:
        last = row.runs[-1]
        made = verdicts.counted(len(row.runs), "run")
        return f"not found in {made}; the last one was {word(last)}: {last.error or last.reason}"
    broken = [run for run in row.runs if word(run) == ERROR]
    worst = broken or [run for run in row.runs if run.verdict == row.verdict]
    [first, *more] = worst or row.runs
    others = f"; so are {len(more)} more" if len(more) > 1 else "; so is one more" if more else ""
    return f"{word(first)}: {first.error or first.reason}{others}"


def page(
    document: campaign_documents.CampaignDocument,
    folder: pathlib.Path,
    *,
    verdict: verdicts.Verdict,
) -> str:
    rows = document.rows
    found = {str(row.verdict) for row in rows} | {word(run) for row in rows for run in row.runs}

    def link(run: results.RunResult) -> str:
        """Return the path of a run's report from the folder; empty if it is not on this machine."""
        is_here = run.directory and "://" not in run.directory  # a merged run can be elsewhere
        report = pathlib.Path(run.directory) / "report.html"
        return urllib.parse.quote(os.path.relpath(report, folder)) if is_here else ""

    return (
        page_templates.templates()
        .get_template("campaign.html.j2")
        .render(
            document=document,
            rows=rows,
            unexpected=[
                (row, f"row-{number}", unexpected(row))
                for number, row in enumerate(rows, start=1)
                if not row.is_as_expected
            ],
            verdict=verdict,
            symbols=page_templates.SYMBOLS,
            facts=_facts(document),
            command=shlex.join(["flake-hunt", *document.command]) if document.command else "",
            interval=interval,
            word=word,
            link=link,
            verdicts=sorted(found),
            subjects=sorted({row.subject for row in rows}),
            linked_max=LINKED_MAX,
        )
    )


SUMMARY = "summary.md"


def publish(
    found: Sequence[results.RunResult],
    plan: campaign_plan.CampaignPlan,
    folder: pathlib.Path,
    problems: Sequence[str] = (),
    *,
    ending: Ending = Ending.NONE,
) -> campaign_documents.CampaignDocument:
    """Write the files and return the document in results.json; `problems` are those of a merge.

    `ending`: see `campaign_documents.document`. Raises StorageError or UnwritableError if they
    cannot be written.
    """
    document = campaign_documents.document(found, plan, folder, problems, ending=ending)
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    writing.replace(folder / campaign_folders.DOCUMENT, content)
    cases = junit_files.render(
        plan, found, thresholds=document.thresholds, problems=document.problems
    )
    writing.replace(folder / junit_files.NAME, junit_files.portable(cases, folder).encode())
    is_one = document.verdict in list(verdicts.Verdict)  # and no harness error
    verdict = document.verdict if is_one else campaign_documents.verdict(document.rows)
    index = page(document, folder, verdict=verdicts.Verdict(verdict))
    writing.replace(folder / campaign_folders.INDEX, index.encode())
    writing.replace(folder / SUMMARY, summary(document).encode())
    return document


def summary(document: campaign_documents.CampaignDocument) -> str:
    """Return the summary for CI systems: verdict, sentences and table in Markdown."""
    answers = [*document.sentences, *document.problems]
    lines = [f"## {escaping.in_markdown(document.headline)}", "", f"Seed {document.seed}.", ""]
    lines += [f"- {escaping.in_markdown(text)}" for text in answers]
    lines += [""] if answers else []
    lines += [
        "| purpose | scenario | subject | runs | found | claims | double allocations | breaks | verdict |",
        "|---|---|---|---:|---:|---:|---:|---:|---|",
        *map(_line, document.rows),
    ]
    return "\n".join([*lines, ""])


def _line(row: results.Row) -> str:
    counts = (len(row.runs), row.caught, row.claims, row.double_allocations, row.breaks)
    figures = " | ".join(map(str, counts))
    purpose = " ".join(filter(None, (row.purpose.value, row.hypothesis)))
    names = " | ".join(map(escaping.in_markdown, (purpose, row.scenario, row.subject)))
    return f"| {names} | {figures} | {row.word if row.is_as_expected else f'**{row.word}**'} |"


def _facts(document: campaign_documents.CampaignDocument) -> dict[str, str]:
    made = sum(len(row.runs) for row in document.rows)
    within = f" ({document.planned} planned)"
    if document.minutes:
        within = f" in a time budget of {document.minutes:g} minutes"
    facts = {
        "seed": str(document.seed),
        "started": document.started,
        "cluster": document.cluster,
        "runs": f"{made}{within}",
        "jobs": str(document.jobs or ""),
        **{name: document.versions.get(name, "") for name in ("flake-hunt", "commit", "python")},
        **subject_names.versions(document.versions),
        **_cluster_versions(document),
    }
    return {name: text for name, text in facts.items() if text}


def _cluster_versions(document: campaign_documents.CampaignDocument) -> dict[str, str]:
    """Return the versions of the cluster of the first run that recorded some."""
    folders = (run.directory for row in document.rows for run in row.runs if run.directory)
    found = (run_folders.cluster_versions(pathlib.Path(folder)) for folder in folders)
    return next(filter(None, found), {})
