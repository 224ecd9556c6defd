"""Writes report.html, junit.xml and trace.json of a run from its directory alone."""

import functools
import shlex
from typing import Any

import jinja2

from harness import writing
from harness.checks import judging, verdicts
from harness.history import directories
from harness.report import charts, escaping, evidence, junit, strips, traces

STRIPS_MAX = 20
SYMBOLS = {
    verdicts.Verdict.VALID: "✓",
    verdicts.Verdict.UNKNOWN: "?",
    verdicts.Verdict.INVALID: "✗",
}


def render(directory: directories.RunDirectory) -> None:
    """Write the three files anew; VerdictError when verdict.json is missing or is not the verdict about this evidence."""
    examination = judging.examine(directory)
    judging.require_own(directory, examination.judgement)
    write(examination)


def write(examination: judging.Examination) -> None:
    """Write the three files, each whole or not at all; StorageError or UnwritableError when that cannot be done."""
    source = evidence.collect(examination)
    directory = examination.history.directory
    writing.replace(directory.report, page(source).encode())
    writing.replace(directory.junit, junit.render(source.judgement).encode())
    writing.replace(directory.trace, traces.render(source))


def page(source: evidence.Evidence) -> str:
    """The report as one self-contained page; the same bytes for the same directory."""
    judgement = source.judgement
    violations = source.violations
    drawn = [
        strips.strip(number, violation, steps)
        for number, (violation, steps) in enumerate(
            zip(violations[:STRIPS_MAX], source.steps, strict=False), start=1
        )
    ]
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            judgement=judgement,
            plan=source.history.plan,
            symbol=SYMBOLS[judgement.verdict],
            headline=_headline(source),
            strips=drawn,
            strips_left_out=judgement.figures.double_allocations - len(drawn),
            others=[line for check in judgement.checks for line in check.others],
            devices=charts.devices_over_time(source),
            held=charts.held_over_time(source),
            latencies=_latencies(source),
            phases=_phases(source),
            missing=source.missing,
            step_counts=source.step_counts,
            again=_commands(source),
        )
    )


@functools.cache
def templates() -> jinja2.Environment:
    """The templates, with everything escaped but what this package drew itself."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("harness.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
    )


def _finalize(value: Any) -> Any:
    return escaping.visible(value) if type(value) is str else value  # markup is ours


def _headline(source: evidence.Evidence) -> str:
    figures = source.judgement.figures
    match source.judgement.verdict:
        case verdicts.Verdict.INVALID:
            devices = len({item.device for item in source.violations})
            several = "s were" if devices != 1 else " was"
            more = "at least " if figures.double_allocations > len(source.violations) else ""
            return f"{more}{devices} device{several} given to two claims at once"
        case verdicts.Verdict.UNKNOWN:
            return "it cannot be told whether a device was given to two claims"
        case verdicts.Verdict.VALID:
            return f"no device was given to two claims, in {figures.allocations} allocations of {figures.devices} devices"


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
    """Copy and paste: the run again, its judgement again."""
    plan = source.history.plan
    token = plan.settings.get("token")
    if token:  # an explored run
        return [shlex.join(["flake-hunt", "replay", token]), "flake-hunt check RUN_DIR"]
    run = [shlex.join(["flake-hunt", *plan.again])] if plan.again else []
    return [*run, "flake-hunt check RUN_DIR"]
