"""Writes report.html, junit.xml, summary.md and trace.json of a run from its directory alone."""

import dataclasses
import os
import pathlib
import shlex
from collections.abc import Iterator, Sequence

from harness import writing
from harness.checks import judging, verdict_files, verdicts
from harness.checks.certificate import script_items
from harness.checks.faults import fault_records
from harness.checks.progress import claim_progress
from harness.history import directories, histories, plans, records
from harness.report import (
    charts,
    evidence,
    junit,
    markdown_summaries,
    page_templates,
    run_facts,
    run_files,
    traces,
)
from harness.report.causes import (
    deciding_writes,
    explaining,
    log_causes,
    server_reads,
    strips,
)
from harness.report.explanations import documents, texts
from harness.report.replay import race_events, replays, watches


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One fault; times are seconds from the start of the run as text, empty if unknown."""

    name: str
    text: str
    """The fault as text, from the plan."""
    required: str
    """`yes`, `no`, or `not planned`."""
    windows: str
    """The times in which it was on: `0.51 to 9.80`."""
    count: int
    """Number of times it took effect."""
    first: str
    last: str
    errors: Sequence[str]
    """Why it could not be injected or healed as planned."""


def rows(faults: fault_records.FaultRecords, *, started_ns: int) -> list[Row]:
    """Return a row for each fault of the plan, then for each other one in the record."""
    planned = {fault.name: fault for fault in faults.planned}
    others = [item.fault for item in faults.applications]
    others += [window.fault for window in faults.windows]
    found = []
    for name in dict.fromkeys([*planned, *others]):
        fault = planned.get(name)
        text = fault.text if fault else "in the record only"
        found.append(_row(faults, name, text, _requirement(fault), started_ns))
    return found


def _requirement(fault: plans.PlannedFault | None) -> str:
    """Return whether a fault has to take effect; None: it is in the record only."""
    if fault is None:
        return "not planned"
    if not fault.required:
        return "no"
    return f"one of {fault.drawn_by}" if fault.drawn_by else "yes"


def _row(
    faults: fault_records.FaultRecords, name: str, text: str, required: str, started_ns: int
) -> Row:
    windows = [window for window in faults.windows if window.fault == name]
    begun = [item.begun_ns for item in faults.applications if item.fault == name]
    return Row(
        name=name,
        text=text,
        required=required,
        windows=", ".join(_span(window, started_ns) for window in windows),
        count=len(begun),
        first=_second(min(begun), started_ns) if begun else "",
        last=_second(max(begun), started_ns) if begun else "",
        errors=[window.error for window in windows if window.error],
    )


def _span(window: records.FaultWindow, started_ns: int) -> str:
    begun, ended = (_second(edge, started_ns) for edge in (window.begun_ns, window.ended_ns))
    return f"{begun} to {ended}"


def _second(ns: int, started_ns: int) -> str:
    return f"{(ns - started_ns) / 1e9:.2f}"


CARDS_MAX = 20
"""Violations of one check that the report shows in full."""


@dataclasses.dataclass(frozen=True, slots=True)
class Card:
    """One violation on the page."""

    anchor: str
    """`double-3` for the third double allocation, otherwise with the name of its check."""
    violation: verdicts.Violation
    strip: strips.Strip | None
    """The picture of a double allocation; None for every other violation."""
    writes: Sequence[deciding_writes.Write]
    """The deciding writes of a double allocation; empty if they are not known."""
    replay: replays.Replay | None = None
    """The moments of a double allocation; None: they are not known, or are left out."""
    log_cause: documents.DoubleAllocationDocument | None = None
    """The cause of a double allocation without steps, from the schedulers' logs; None: none."""
    sent: str = ""
    """The reads of a program without steps, from the API server's log; empty: not known."""

    @property
    def label(self) -> str:
        """The device of a double allocation, or another object, and the version that shows it."""
        found = self.violation
        objects = [item.name for item in found.objects[:1]]
        names = [found.device] if isinstance(found, verdicts.DoubleAllocation) else objects
        versions = (f"at version {version}" for version in found.resource_versions[-1:])
        return " ".join([*names, *versions]) or self.anchor

    @property
    def why(self) -> str:
        """The cause of a double allocation as text; empty for every other violation."""
        log = log_causes.text(self.log_cause) if self.log_cause else ""
        return " ".join(filter(None, (log, self.sent))) or (self.strip.why if self.strip else "")


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
    """Write the files again.

    Raises VerdictError if verdict.json is missing or is not the verdict about this evidence.
    """
    examination = judging.examine(directory)
    verdict_files.require_own(directory, examination.judgement)
    write(examination)


def write(examination: judging.Examination) -> None:
    """Write the files, each atomically.

    Raises StorageError or UnwritableError if the directory cannot be written.
    """
    source = evidence.collect(examination)
    directory = examination.history.directory
    trace = traces.render(source)
    path, other = directory.trace, directory.compressed_trace
    if traces.is_large(trace):
        path, other, trace = other, path, traces.compressed(trace)
    writing.replace(directory.report, page(source, trace=path).encode())
    facts = run_facts.collect(source.history)
    properties = junit.properties(source.judgement, facts)
    writing.replace(directory.junit, junit.render(source.judgement, properties).encode())
    text = markdown_summaries.render(source.judgement, facts)
    writing.replace(directory.summary, text.encode())
    writing.replace(path, trace)
    if os.path.lexists(other):
        with writing.explained(other):
            other.unlink()


def page(source: evidence.Evidence, *, trace: pathlib.Path | None = None) -> str:
    """Return the report as one self-contained page; the same bytes for the same directory.

    `trace` is the file of the trace; None: `trace.json`.
    """
    history, judgement = source.history, source.judgement
    sections = list(sections_of(source))
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
            trace=run_files.trace_link(trace or history.directory.trace),
            certificate=run_facts.certificate(judgement),
            not_needed=run_facts.NOT_NEEDED,
            why_not_needed=run_facts.WHY_NOT_NEEDED,
            sections=sections,
            first=first,
            has_replays=has_replays,
            throughput=charts.throughput(source),
            latency=charts.latency(source),
            phases=_phases(source),
            faults=rows(source.faults, started_ns=source.started_ns),
            steps=list(_script(history)),
            costs=source.remedy_costs,
            missing=source.missing,
            step_counts=source.step_counts,
            again=commands(source),
            signature=texts.signature,
            stale_read=texts.stale_read,
            window=texts.window,
            script=script,
            script_hash=page_templates.digest(script),
        )
    )


def _headline(judgement: verdict_files.Judgement) -> str:
    match judgement.verdict:
        case verdicts.Verdict.INVALID:
            broken = [
                _broken(check)
                for check in judgement.checks
                if check.verdict is verdicts.Verdict.INVALID
            ]
            return "; ".join([*broken, *judgement.missed_thresholds])
        case verdicts.Verdict.UNKNOWN:
            return "inconclusive"
        case verdicts.Verdict.VALID:
            return "no guarantee is violated"


def _broken(check: verdicts.CheckResult) -> str:
    text = f"{verdicts.counted(check.violation_count, 'violation')} of “{check.promise}”"
    return f"STUCK: {text}" if check.check == claim_progress.CHECK.name else text


def sections_of(source: evidence.Evidence) -> Iterator[Section]:
    """Yield the violations by their checks, each with what explains it."""
    steps = iter(source.steps)
    writes = deciding_writes.DecidingWrites(source.double_allocations[:CARDS_MAX])
    writes.read(source.history)
    races = _Races(source, writes)
    logs = log_causes.LogCauses()
    if not all(map(explaining.are_of_scheduler, source.steps)):
        logs.read(source.history.directory)
    for check in source.judgement.checks:
        cards = []
        for number, violation in enumerate(check.violations, start=1):
            if isinstance(violation, verdicts.DoubleAllocation):
                cards.append(races.card(f"double-{number}", violation, next(steps), logs))
            else:
                cards.append(Card(f"{check.check}-{number}", violation, None, []))
        if cards:
            yield Section(check, cards[:CARDS_MAX])


class _Races:
    """The records of the first double allocations, from which their moments are told."""

    def __init__(self, source: evidence.Evidence, writes: deciding_writes.DecidingWrites) -> None:
        self._source, self._writes = source, writes
        self._replayed = source.double_allocations[: replays.REPLAYS_MAX]
        self._calls = race_events.calls_of(source.history, self._replayed)
        sent = watches.sent_to(source.reads, self._replayed)
        self._watches = watches.Watches({**source.received, **sent}, source.faults.applications)

    def card(
        self,
        anchor: str,
        violation: verdicts.DoubleAllocation,
        steps: Sequence[records.Step],
        logs: log_causes.LogCauses,
    ) -> Card:
        """Return the card of a double allocation: a commit has one time in all of its parts."""
        source, writes = self._source, self._writes
        race = race_events.Race(source, violation, steps, writes, self._calls, self._watches)
        times = race_events.commit_times(race)
        race = race._replace(violation=race_events.at_commits(violation, times))
        strip = strips.strip(race.violation, steps, source.names)
        is_replayed, has_steps = violation in self._replayed, explaining.are_of_scheduler(steps)
        return Card(
            anchor,
            race.violation,
            strip,
            [
                item._replace(ts_ns=times.get(item.resource_version, item.ts_ns))
                for item in writes.of(violation)
            ],
            replays.replay(race, zero_ns=strip.zero_ns) if is_replayed else None,
            None if has_steps else logs.of(violation),
            "" if has_steps else server_reads.explain(violation, source.reads),
        )


def _phases(source: evidence.Evidence) -> list[tuple[str, str, str]]:
    return [
        (f"{(phase.ts_ns - source.started_ns) / 1e9:.2f}", phase.name, phase.detail)
        for phase in source.history.phases
    ]


def _script(history: histories.History) -> Iterator[tuple[records.ScriptStep, str]]:
    """Yield the steps of the script, each with the ms after the first at which it had happened."""
    played = script_items.steps(history)
    for step in played:
        yield step, f"{(step.ended_ns - played[0].begun_ns) / 1e6:,.0f}"


def commands(source: evidence.Evidence) -> list[str]:
    """Return the commands that repeat the run and that judge it again."""
    plan = source.history.plan
    token = plan.settings.get("token")
    if token:  # a run of the explorer
        return [shlex.join(["flake-hunt", "replay", token]), "flake-hunt check RUN_DIR"]
    run = [shlex.join(["flake-hunt", *plan.again])] if plan.again else []
    return [*run, "flake-hunt check RUN_DIR"]
