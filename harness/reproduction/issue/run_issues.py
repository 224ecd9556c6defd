"""One text about one run to paste into an issue: `flake-hunt report --issue`."""

import shlex
from collections.abc import Iterator, Sequence

from harness import errors
from harness.checks import judging, run_figures, verdicts
from harness.report import evidence, run_facts
from harness.report.causes import deciding_writes, log_causes
from harness.reproduction.issue import (
    markdown,
    redaction,
    specimen_sections,
    specimens,
)

SIZE_MAX = 60_000
"""Characters of the text; GitHub accepts 65,536."""
_STORY_MAX = 60
"""Sentences of the story."""


def text(examination: judging.Examination) -> str:
    """Return the text, in Markdown without secrets and without paths of the machine.

    Parts that do not fit are left out, the last ones first. Raises UsageError for a run that is
    not INVALID.
    """
    judgement = examination.judgement
    broken = [item for item in judgement.checks if item.verdict is verdicts.Verdict.INVALID]
    if not broken or not broken[0].violations:
        raise errors.UsageError(
            f"expected an INVALID run for --issue, got one that is {judgement.verdict}: "
            "there is no violation to report"
        )
    source = evidence.collect(examination)
    specimen = specimens.of(source, broken[0].check)
    return _joined(list(_parts(source, specimen, broken)))


def _joined(parts: Sequence[str]) -> str:
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part) + 2
        if size > SIZE_MAX:
            left_out = len(parts) - len(kept)
            kept.append(f"({verdicts.counted(left_out, 'part')} left out, see the run's report.)")
            break
        kept.append(part)
    return "\n\n".join(kept) + "\n"


def _parts(
    source: evidence.Evidence,
    specimen: specimens.Specimen,
    broken: Sequence[verdicts.CheckResult],
) -> Iterator[str]:
    yield f"# {_title(specimen)}"
    yield from _what_happened(source, specimen, broken)
    yield from specimen_sections.versions(specimen)
    yield from _how_to_run(source)
    yield from _figures(source)
    yield from specimen_sections.strip(specimen)
    yield from _story(specimen)
    yield from _deciding_writes(source, specimen)
    yield from specimen_sections.writes(specimen)
    yield from specimen_sections.logs(specimen)


def _title(specimen: specimens.Specimen) -> str:
    scheduler = specimen_sections.scheduler(specimen)
    if isinstance(specimen.violation, verdicts.DoubleAllocation):
        return f"{scheduler} allocates one device to two ResourceClaims"
    return f"{scheduler} breaks the guarantee “{markdown.text(specimen.check.promise)}”"


def _what_happened(
    source: evidence.Evidence,
    specimen: specimens.Specimen,
    broken: Sequence[verdicts.CheckResult],
) -> Iterator[str]:
    yield "## What happened"
    yield markdown.text(specimen.violation.text)
    if why := _why(source, specimen):
        yield markdown.text(why)
    if specimen.violation.attribution:
        yield f"Faults behind it: {markdown.text(specimen.violation.attribution)}."
    if specimen.plan.faults:
        yield "The faults were injected on purpose:"
        yield "\n".join(
            f"- {markdown.code(item.name)}: {markdown.text(item.text)}"
            for item in specimen.plan.faults
        )
    yield "Expected, and violated:"
    yield "\n".join(
        f"- {markdown.text(check.promise)} ({verdicts.counted(check.violation_count, 'violation')})"
        for check in broken
    )


def _why(source: evidence.Evidence, specimen: specimens.Specimen) -> str:
    """Return the cause according to the steps, or to the logs; empty if none can be known."""
    if specimen.strip is None or not isinstance(specimen.violation, verdicts.DoubleAllocation):
        return ""
    if not specimen.steps:
        logs = log_causes.LogCauses()
        logs.read(source.history.directory)
        if found := logs.of(specimen.violation):
            return found.text
    window = specimen.strip.window
    return " ".join([specimen.strip.explanation, *([window.text] if window else [])])


def _how_to_run(source: evidence.Evidence) -> Iterator[str]:
    plan = source.history.plan
    token = str(plan.settings.get("token") or "")
    words = ["replay", token] if token else plan.again
    if not words:
        return
    yield "## How to run it"
    yield f"Scenario {markdown.code(plan.scenario)}, seed {plan.seed}; exit code 10 means that the violation was found."
    command = shlex.join(["flake-hunt", *(redaction.program(word) for word in words)])
    yield markdown.block([command], "sh")


def _figures(source: evidence.Evidence) -> Iterator[str]:
    found = source.judgement.figures
    meant = verdicts.meant_pairs(found.double_allocations, found.allocations)
    rows = [
        ("claims", str(found.claims)),
        ("pods, of these Running", f"{found.pods}, {found.pods_running}"),
        ("allocations of devices", f"{found.allocations} of {found.devices}"),
        ("double allocations", f"{found.double_allocations}{meant}"),
        ("allocations/s", str(found.allocations_per_s or "–")),
        ("from claim to allocation", _latency(found.claim_to_allocation)),
        ("from pod to Running", _latency(found.pod_to_running)),
        ("date", run_facts.date(source.history.plan)),
    ]
    yield "## Figures"
    yield markdown.table(
        ("figure", "value"), [[name, markdown.text(value)] for name, value in rows]
    )


def _latency(found: run_figures.Latency) -> str:
    if not found.count:
        return "–"
    return f"median {found.p50_ms} ms, p99 {found.p99_ms} ms ({found.count} measured)"


def _story(specimen: specimens.Specimen) -> Iterator[str]:
    if specimen.strip is None or not specimen.strip.story:
        return
    sentences = specimen.strip.story[-_STORY_MAX:]
    lines = [
        f"{number}. {markdown.text(text)}" for number, (_, text) in enumerate(sentences, start=1)
    ]
    yield markdown.folded(
        f"The scheduler's steps in sentences; at 0 ms {specimen.strip.zero_meaning}",
        "\n".join(lines),
    )


def _deciding_writes(source: evidence.Evidence, specimen: specimens.Specimen) -> Iterator[str]:
    if not isinstance(specimen.violation, verdicts.DoubleAllocation):
        return
    found = deciding_writes.DecidingWrites([specimen.violation])
    found.read(source.history)
    writes = found.of(specimen.violation)
    if not writes:
        return
    yield "## The deciding writes"
    for write in writes:
        after = (write.ts_ns - specimen.zero_ns) / 1e6
        yield f"{markdown.text(write.title)}, resourceVersion {write.resource_version}, {after:+,.3f} ms:"
        yield markdown.block((f"{line.sign} {line.text}" for line in write.lines), "diff")
