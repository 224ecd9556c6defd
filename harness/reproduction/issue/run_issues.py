"""One text about one run to paste into an issue: `flake-hunt report --issue`."""

from collections.abc import Iterator, Sequence

from harness import errors
from harness.checks import judging, run_figures, verdicts
from harness.history import run_folders
from harness.report import evidence, run_facts
from harness.report.causes import deciding_writes, log_causes
from harness.reproduction.issue import (
    markdown,
    repeating,
    specimen_sections,
    specimens,
    stored_objects,
)

SIZE_MAX = 60_000
"""Characters of the text; GitHub accepts 65,536."""
_STORY_MAX = 60
"""Sentences of the story."""


def text(examination: judging.Examination) -> str:
    """Return the text, in Markdown without secrets and without paths of the machine.

    It begins at the moment of the violation. Parts that do not fit are left out, the last ones
    first. Raises UsageError for a run that is not INVALID.
    """
    judgement = examination.judgement
    broken = [item for item in judgement.checks if item.violations]
    source = evidence.Evidence(examination)
    if broken:
        specimen = specimens.of(source, broken[0].check)
        return _joined(list(_parts(source, specimen, broken)))
    if not judgement.missed_thresholds:
        raise errors.UsageError(
            f"expected an INVALID run for --issue, got one that is {judgement.verdict}: "
            "there is no violation to report"
        )
    return _joined(list(_of_thresholds(source)))


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
    yield from _moment(source, specimen)
    yield from _objects(source, specimen)
    yield from _expected(broken)
    yield from specimen_sections.versions(source.history.plan, specimen.cluster_versions)
    yield from repeating.section(source.history.plan)
    yield from _figures(source)
    yield from specimen_sections.steps_section(specimen)
    yield from _story(specimen)
    yield from _deciding_writes(source, specimen)
    yield from specimen_sections.writes(specimen)
    yield from specimen_sections.logs(specimen)


def _of_thresholds(source: evidence.Evidence) -> Iterator[str]:
    """Yield the parts of a run whose figures are beyond its bounds, without a violation."""
    plan, missed = source.history.plan, source.judgement.missed_thresholds
    yield f"# {specimen_sections.scheduler(plan)} misses a threshold"
    yield "\n".join(f"- {markdown.text(clause)}" for clause in missed)
    cluster_versions = run_folders.cluster_versions(source.history.directory.path)
    yield from specimen_sections.versions(plan, cluster_versions)
    yield from repeating.section(plan)
    yield from _figures(source)


def _title(specimen: specimens.Specimen) -> str:
    scheduler = specimen_sections.scheduler(specimen.plan)
    if isinstance(specimen.violation, verdicts.DoubleAllocation):
        return f"{scheduler} allocates one device to two ResourceClaims"
    return f"{scheduler} breaks the guarantee “{markdown.text(specimen.check.promise)}”"


def _moment(source: evidence.Evidence, specimen: specimens.Specimen) -> Iterator[str]:
    """Yield the moment of the violation: in a sentence, over time, why, and by which faults."""
    yield "## The moment"
    yield markdown.text(specimen.violation.text)
    yield from specimen_sections.strip(specimen, heading="")
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


def _objects(source: evidence.Evidence, specimen: specimens.Specimen) -> Iterator[str]:
    """Yield the claims, or the objects of another violation, as they were stored then."""
    wanted = stored_objects.wanted(specimen.violation)
    observations = source.history.observations() if wanted.keys else None
    found = stored_objects.of(observations or (), wanted)
    if not found:
        return
    is_double = isinstance(specimen.violation, verdicts.DoubleAllocation)
    version = wanted.resource_version
    then = f"at resourceVersion {version}" if version is not None else "at the end"
    yield "## The two claims" if is_double else "## The objects"
    yield f"As they were stored {then}, shortened:"
    yield markdown.block("\n---\n".join("\n".join(lines) for lines in found).splitlines(), "yaml")


def _expected(broken: Sequence[verdicts.CheckResult]) -> Iterator[str]:
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
            return log_causes.text(found)
    return specimen.strip.why


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
        ("date", run_facts.date(source.history.plan.created_wall_ns) or "unknown"),
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
