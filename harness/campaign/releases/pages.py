"""releases.html: the table of releases as a page."""

import pathlib
import urllib.parse
from collections.abc import Sequence

import msgspec

from harness import writing
from harness.campaign.releases import documents, programs, questions
from harness.checks import verdicts
from harness.report import page_templates
from harness.statistics import rates

NAME = "releases.html"
_LOOKS = {
    "shown": str(verdicts.Verdict.INVALID),
    "not shown": str(verdicts.Verdict.VALID),
    "undecided": str(verdicts.Verdict.UNKNOWN),
    "not possible": "soft",
}
"""State of a cell, or answer of a run -> the class that has its colour."""
_MARKS = {"shown": "✗", "not shown": "✓", "undecided": "?"}
HEADINGS: dict[questions.Group, str] = {
    "hazard": "Findings",
    "race": "The two races",
    "regress": "Regressions: scenarios that each show a known defect of some release, or of a draft",
}


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All findings of one program."""

    program: programs.Program
    releases: list[programs.Release]
    rows: list[tuple[questions.Question, list[documents.Cell]]]
    """Each finding with its cells, in the order of the releases."""


def publish(document: documents.ReleasesDocument, folder: pathlib.Path) -> None:
    """Write document and page. Raises StorageError or UnwritableError if they cannot be written."""
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    writing.replace(folder / documents.NAME, content)
    writing.replace(folder / NAME, page(document).encode())


def page(document: documents.ReleasesDocument) -> str:
    """Return the page of a document, which lies beside it."""
    template = page_templates.templates().get_template("releases.html.j2")
    return template.render(
        document=document,
        tables=tables(document),
        facts=_facts(document),
        headings=HEADINGS,
        looks=_LOOKS,
        marks=_MARKS,
        open=[cell for cell in document.cells if cell.state in ("not possible", "undecided")],
        interval=interval,
        link=_link,
        anchor=anchor,
    )


def tables(document: documents.ReleasesDocument) -> list[Table]:
    """Return a table for each program that is asked anything."""
    names = dict.fromkeys(item.program for item in document.findings)
    return [_table(document, name) for name in names]


def _table(document: documents.ReleasesDocument, program: programs.Program) -> Table:
    releases = [item for item in document.releases if item.program == program]
    cells = {(item.scenario, item.program, item.version): item for item in document.cells}
    asked = [item for item in document.findings if item.program == program]
    rows = [
        (item, [cells[item.scenario, program, release.version] for release in releases])
        for item in asked
    ]
    return Table(program=program, releases=releases, rows=rows)


def interval(cell: documents.Cell) -> str:
    """Return the exact interval of the rate, in percent; empty if no run decided."""
    return f"{rates.span(cell.low, cell.high, '–')} %" if cell.decided else ""


def _link(run: documents.Run) -> str:
    return urllib.parse.quote(f"{run.directory}/report.html")


def anchor(cell: documents.Cell) -> str:
    """Return the name of a cell in links."""
    return f"{cell.scenario}-{cell.program}-{cell.version}".replace(".", "-")


def _facts(document: documents.ReleasesDocument) -> dict[str, str]:
    names: Sequence[str] = ("flake-hunt", "commit", "python")
    return {
        "cluster": document.cluster,
        "runs of a cell": str(document.repeat),
        "ended": document.ended,
        **{name: document.versions[name] for name in names if name in document.versions},
    }
