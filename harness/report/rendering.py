"""Writes report.html, junit.xml and trace.json of a run from its directory alone."""

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from harness import writing
from harness.checks import judging, verdict_files, verdicts
from harness.checks.progress import claim_progress
from harness.history import directories
from harness.report import (
    charts,
    evidence,
    fault_tables,
    junit,
    page_templates,
    strips,
    traces,
)

CARDS_MAX = 20
"""Violations of one check that the report shows in full."""


@dataclasses.dataclass(frozen=True, slots=True)
class Card:
    """One violation on the page."""

    anchor: str
    violation: verdicts.Violation
    strip: strips.Strip | None
    """The picture of a double allocation; None for every other violation."""


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """The violations of one check on the page."""

    check: verdicts.CheckResult
    cards: Sequence[Card]

    @property
    def left_out(self) -> int:
        """The number of violations without a card."""
        return self.check.violation_count - len(self.cards)


def render(directory: directories.RunDirectory) -> None:
    """Write the three files again.

    Raises VerdictError if verdict.json is missing or is not the verdict about this evidence.
    """
    examination = judging.examine(directory)
    verdict_files.require_own(directory, examination.judgement)
    write(examination)


def write(examination: judging.Examination) -> None:
    """Write the three files, each atomically.

    Raises StorageError or UnwritableError if the directory cannot be written.
    """
    source = evidence.collect(examination)
    directory = examination.history.directory
    writing.replace(directory.report, page(source).encode())
    writing.replace(directory.junit, junit.render(source.judgement).encode())
    writing.replace(directory.trace, traces.render(source))


def page(source: evidence.Evidence) -> str:
    """Return the report as one self-contained page; the same bytes for the same directory."""
    return (
        page_templates.templates()
        .get_template("report.html.j2")
        .render(
            judgement=source.judgement,
            plan=source.history.plan,
            symbol=page_templates.SYMBOLS[source.judgement.verdict],
            headline=_headline(source.judgement),
            sections=list(_sections(source)),
            devices=charts.devices_over_time(source),
            held=charts.held_over_time(source),
            latencies=_latencies(source),
            phases=_phases(source),
            faults=fault_tables.rows(source.faults, started_ns=source.started_ns),
            costs=source.remedy_costs,
            missing=source.missing,
            step_counts=source.step_counts,
            again=_commands(source),
        )
    )


def _headline(judgement: verdict_files.Judgement) -> str:
    match judgement.verdict:
        case verdicts.Verdict.INVALID:
            return "; ".join(
                _broken(check)
                for check in judgement.checks
                if check.verdict is verdicts.Verdict.INVALID
            )
        case verdicts.Verdict.UNKNOWN:
            return "inconclusive"
        case verdicts.Verdict.VALID:
            return "no guarantee is violated"


def _broken(check: verdicts.CheckResult) -> str:
    text = f"{verdicts.counted(check.violation_count, 'violation')} of “{check.promise}”"
    return f"STUCK: {text}" if check.check == claim_progress.NAME else text


def _sections(source: evidence.Evidence) -> Iterator[Section]:
    steps = iter(source.steps)
    number = 0
    for check in source.judgement.checks:
        cards = []
        for violation in check.violations:
            strip = None
            if isinstance(violation, verdicts.DoubleAllocation):
                strip = strips.strip(violation, next(steps))
            number += 1
            cards.append(Card(f"violation-{number}", violation, strip))
        if cards:
            yield Section(check, cards[:CARDS_MAX])


def _latencies(source: evidence.Evidence) -> list[tuple[str, Any, charts.Chart]]:
    figures, folded = source.judgement.figures, source.folded
    return [
        (
            "From claim to allocation",
            figures.claim_to_allocation,
            charts.latencies(folded.claims.values(), "From claim to allocation"),
        ),
        (
            "From pod to Running",
            figures.pod_to_running,
            charts.latencies(folded.pods.values(), "From pod to Running"),
        ),
    ]


def _phases(source: evidence.Evidence) -> list[tuple[str, str, str]]:
    return [
        (f"{(phase.ts_ns - source.started_ns) / 1e9:.2f}", phase.name, phase.detail)
        for phase in source.history.phases
    ]


def _commands(source: evidence.Evidence) -> list[str]:
    """Return the commands that repeat the run and that judge it again."""
    plan = source.history.plan
    token = plan.settings.get("token")
    if token:  # a run of the explorer
        return [shlex.join(["flake-hunt", "replay", token]), "flake-hunt check RUN_DIR"]
    run = [shlex.join(["flake-hunt", *plan.again])] if plan.again else []
    return [*run, "flake-hunt check RUN_DIR"]
