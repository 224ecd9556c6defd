"""The index page of a campaign: its closing table, and a row for each run with its report."""

import dataclasses
import pathlib
import shlex
from collections.abc import Mapping, Sequence

from harness import writing
from harness.checks import verdicts
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
        """Why the row is not as expected, in words; meaningless if it is."""
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
