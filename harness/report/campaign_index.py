"""The index page of a campaign: its closing table, with links to the reports of its runs."""

import dataclasses
import pathlib
from collections.abc import Sequence

from harness import writing
from harness.checks import verdicts
from harness.report import page_templates


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IndexedRun:
    """One run in the index of a campaign."""

    verdict: str
    reason: str
    link: str
    """Path of its report, relative to the index; empty without a report."""
    seconds: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """All runs of one scenario and one subject."""

    purpose: str
    """Heading of this part of the table: `correct subject`, `positive controls`, …"""
    scenario: str
    hypothesis: str
    """Name of the hazard, such as `H1`; empty if the scenario has none."""
    subject: str
    is_as_expected: bool
    verdict: str
    caught: int | None
    """Number of runs that found what they must find; None where nothing must be found."""
    claims: int
    double_allocations: int
    stuck: int
    seconds: float
    runs: Sequence[IndexedRun]


def render(
    path: pathlib.Path,
    rows: Sequence[IndexRow],
    *,
    verdict: verdicts.Verdict,
    seed: int,
    summary: str,
) -> None:
    """Write the index page atomically."""
    text = (
        page_templates.templates()
        .get_template("campaign.html.j2")
        .render(
            rows=rows,
            verdict=verdict,
            symbol=page_templates.SYMBOLS[verdict],
            seed=seed,
            summary=summary,
        )
    )
    writing.replace(path, text.encode())
