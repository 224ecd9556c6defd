"""Writes a judgement and its pages into the run directory; at no time do they contradict.

First the pages of an earlier judgement are removed, then verdict.json is replaced, then the new
pages are written. After an interruption or a failure, pages may be missing, but none is stale.
"""

import contextlib
import os
import pathlib
import shlex
import stat
from collections.abc import Iterator
from typing import Any

from harness import errors, writing
from harness.checks import fault_records, judging, run_course, verdict_files, verdicts
from harness.checks.progress import claim_progress
from harness.history import directories, histories, plans, records
from harness.report import (
    cards,
    charts,
    evidence,
    junit,
    page_templates,
    run_facts,
    traces,
)


def publish(examination: judging.Examination) -> None:
    """Write verdict.json, report.html, junit.xml and trace.json.

    Raises StorageError if the disk is full or broken, and UnwritableError if the folder is
    read-only; a read-only folder stays unchanged.
    """
    directory = examination.history.directory
    for old in directory.pages():
        with writing.explained(old):
            old.unlink(missing_ok=True)
    _replace_verdict(directory, examination.judgement)
    write(examination)


def _replace_verdict(
    directory: directories.RunDirectory, judgement: verdict_files.Judgement
) -> None:
    """Replace verdict.json; on failure remove an older one, which may be about other evidence.

    A link or a FIFO in its place is removed first: it must not be followed or waited for.
    """
    with writing.explained(directory.verdict):
        if os.path.lexists(directory.verdict) and not stat.S_ISREG(
            directory.verdict.lstat().st_mode
        ):
            directory.verdict.unlink()
    try:
        verdict_files.write(directory, judgement)
    except errors.StorageError:
        with contextlib.suppress(OSError):
            directory.verdict.unlink(missing_ok=True)
        raise


def write(examination: judging.Examination) -> None:
    """Write report.html, junit.xml and trace.json, each atomically.

    Raises StorageError or UnwritableError if the directory cannot be written.
    """
    source = evidence.Evidence(examination)
    directory = examination.history.directory
    trace = traces.render(source)
    path, other = directory.trace, directory.compressed_trace
    if traces.is_large(trace):
        path, other, trace = other, path, traces.compressed(trace)
    writing.replace(directory.report, page(source, trace=path).encode())
    facts = run_facts.collect(source.history)
    properties = junit.properties_of(source.judgement, facts)
    writing.replace(directory.junit, junit.render(source.judgement, properties).encode())
    writing.replace(path, trace)
    if os.path.lexists(other):
        with writing.explained(other):
            other.unlink()


def page(source: evidence.Evidence, *, trace: pathlib.Path | None = None) -> str:
    """Return the report as one self-contained page; the same bytes for the same directory.

    `trace` is the file of the trace; None: `trace.json`.
    """
    history, judgement = source.history, source.judgement
    sections = list(cards.sections_of(source))
    first = sections[0].cards[0] if sections else None
    has_replays = any(card.replay for section in sections for card in section.cards)
    script = page_templates.script() if has_replays else ""
    return (
        page_templates.templates()
        .get_template("report.html.j2")
        .render(
            judgement=judgement,
            plan=history.plan,
            symbol=page_templates.SYMBOLS[judgement.verdict],
            headline=_headline(judgement),
            facts=run_facts.collect(history),
            trace=run_facts.link((trace or history.directory.trace).name),
            not_needed=run_facts.NOT_NEEDED,
            why_not_needed=run_facts.WHY_NOT_NEEDED,
            sections=sections,
            first=first,
            throughput=charts.throughput(source),
            latency=charts.latency(source),
            phases=history.phases,
            second=lambda ts_ns: _second(ts_ns, source.started_ns),
            faults=list(_faults(source.faults, started_ns=source.started_ns)),
            steps=list(_script(history)),
            missing=source.missing,
            step_counts=source.step_counts,
            again=_commands(source),
            script=script,
            script_hash=page_templates.digest(script),
        )
    )


def _headline(judgement: verdict_files.Judgement) -> str:
    bad = [check for check in judgement.checks if check.verdict is verdicts.Verdict.INVALID]
    return {
        verdicts.Verdict.INVALID: "; ".join([*map(_broken, bad), *judgement.missed_thresholds]),
        verdicts.Verdict.UNKNOWN: "inconclusive",
        verdicts.Verdict.VALID: "no guarantee is violated",
    }[judgement.verdict]


def _broken(check: verdicts.CheckResult) -> str:
    text = f"{verdicts.counted(check.violation_count, 'violation')} of “{check.promise}”"
    return f"STUCK: {text}" if check.check == claim_progress.CHECK.name else text


def _script(history: histories.History) -> Iterator[tuple[records.ScriptStep, str]]:
    played = run_course.script_steps(history)
    for step in played:
        yield step, f"{(step.ended_ns - played[0].begun_ns) / 1e6:,.0f}"


def _faults(found: fault_records.FaultRecords, *, started_ns: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of faults; times are seconds from the start of the run, empty if unknown."""
    planned = {fault.name: fault for fault in found.planned}
    others = [item.fault for item in found.applications] + [item.fault for item in found.windows]
    for name in dict.fromkeys([*planned, *others]):
        fault = planned.get(name)
        windows = [window for window in found.windows if window.fault == name]
        begun = [item.begun_ns for item in found.applications if item.fault == name]
        spans = [
            f"{_second(window.begun_ns, started_ns)} to {_second(window.ended_ns, started_ns)}"
            for window in windows
        ]
        yield {
            "name": name,
            "text": fault.text if fault else "in the record only",
            "required": _requirement(fault),
            "windows": ", ".join(spans),
            "times": len(begun),
            "first": _second(min(begun), started_ns) if begun else "",
            "last": _second(max(begun), started_ns) if begun else "",
            "errors": [window.error for window in windows if window.error],
        }


def _requirement(fault: plans.PlannedFault | None) -> str:
    """Return whether a fault has to take effect; None: it is in the record only."""
    if fault is None:
        return "not planned"
    if not fault.required:
        return "no"
    return f"one of {fault.drawn_by}" if fault.drawn_by else "yes"


def _second(ns: int, started_ns: int) -> str:
    return f"{(ns - started_ns) / 1e9:.2f}"


def _commands(source: evidence.Evidence) -> list[str]:
    plan = source.history.plan
    token = plan.settings.get("token")
    if token:  # a run of the explorer
        return [shlex.join(["flake-hunt", "replay", token]), "flake-hunt check RUN_DIR"]
    run = [shlex.join(["flake-hunt", *plan.again])] if plan.again else []
    return [*run, "flake-hunt check RUN_DIR"]
