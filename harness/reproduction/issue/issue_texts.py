"""The text to paste into a Kubernetes issue, about one failed run, and perhaps its reproduction."""

import dataclasses
import shlex
from collections.abc import Iterator, Sequence

from harness import errors, rates
from harness.checks import judging, run_figures, verdicts
from harness.history import plans, run_folders, subject_names
from harness.report import evidence, run_facts
from harness.report.redaction import texts
from harness.reproduction.issue import (
    markdown,
    pictures,
    scenario_sizes,
    specimen_sections,
    specimens,
    stored_objects,
)
from harness.scenario import hazards, specs

SIZE_MAX = 60_000
"""Characters of the text; GitHub accepts 65,536."""
_STORY_MAX = 60
"""Sentences of the story."""
_KEPT = ("--subject", "--claim-controller", "--cluster")
"""Options of a run that `confirm` needs, too."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The result of a reproduction."""

    original: specs.Scenario
    scenario: specs.Scenario
    """The smallest scenario that still fails."""
    scenario_text: str
    """The content of its file."""
    rate: rates.Rate
    is_interrupted: bool = False
    """True if the search was interrupted: a smaller scenario may exist."""


def text(examination: judging.Examination) -> str:
    """Return the text, in Markdown without secrets and without paths of the machine.

    It begins at the moment of the violation. Parts that do not fit are left out, the last ones
    first. Raises UsageError for a run that is not INVALID.
    """
    judgement = examination.judgement
    broken = [item for item in judgement.checks if item.violations]
    source = evidence.Evidence(examination)
    if broken:
        return of(specimens.of(source, broken[0].check))
    if not judgement.missed_thresholds:
        raise errors.UsageError(
            f"expected an INVALID run for --issue, got one that is {judgement.verdict}: "
            "there is no violation to report"
        )
    return _joined(list(_of_thresholds(source)))


def of(specimen: specimens.Specimen, found: Findings | None = None) -> str:
    """Return the text about a violation; `found` is its reproduction."""
    return _joined(list(_parts(specimen, found)))


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


def _parts(specimen: specimens.Specimen, found: Findings | None) -> Iterator[str]:
    yield specimen_sections.title(specimen)
    yield from specimen_sections.moment(specimen, picture=pictures.FILE if found else "")
    yield from _objects(specimen)
    yield from _expected(specimen.source.judgement.checks)
    yield from _how_often(found) if found else ()
    yield from specimen_sections.versions(specimen.plan, specimen.cluster_versions)
    yield from _how_to_run(specimen, found) if found else _repeating(specimen.plan)
    yield from _figures(specimen.source)
    yield from specimen_sections.steps_section(specimen)
    yield from _story(specimen)
    yield from _deciding_writes(specimen)
    yield from specimen_sections.writes(specimen)
    yield from specimen_sections.logs(specimen)


def _of_thresholds(source: evidence.Evidence) -> Iterator[str]:
    """Yield the parts of a run whose figures are beyond its bounds, without a violation."""
    plan, missed = source.history.plan, source.judgement.missed_thresholds
    yield f"# {specimen_sections.scheduler(plan)} misses a threshold"
    yield "\n".join(f"- {markdown.text(clause)}" for clause in missed)
    cluster_versions = run_folders.cluster_versions(source.history.directory.path)
    yield from specimen_sections.versions(plan, cluster_versions)
    yield from _repeating(plan)
    yield from _figures(source)


def _objects(specimen: specimens.Specimen) -> Iterator[str]:
    found = stored_objects.of(specimen.violation, specimen.stored)
    if not found:
        return
    is_double = isinstance(specimen.violation, verdicts.DoubleAllocation)
    version = stored_objects.moment(specimen.violation)
    then = f"at resourceVersion {version}" if version is not None else "at the end"
    yield "## The two claims" if is_double else "## The objects"
    yield f"As they were stored {then}, shortened:"
    yield markdown.block("\n---\n".join("\n".join(lines) for lines in found).splitlines(), "yaml")


def _expected(checks: Sequence[verdicts.CheckResult]) -> Iterator[str]:
    yield "Expected, and violated:"
    yield "\n".join(
        f"- {markdown.text(check.promise)} ({verdicts.counted(check.violation_count, 'violation')})"
        for check in checks
        if check.violations
    )


def _how_often(found: Findings) -> Iterator[str]:
    yield "## How often"
    yield (
        f"It failed in **{found.rate.failed} of {found.rate.runs} runs** of the scenario below, each with "
        f"another seed. The exact (Clopper-Pearson) {rates.CONFIDENCE:.0%} confidence interval of the "
        f"rate is {rates.span(*found.rate.interval, '% to ')}%."
    )
    if found.is_interrupted:
        yield "The search for a smaller scenario was interrupted; there may be one."
    yield markdown.table(
        ("", "original scenario", "this scenario"),
        [
            [name, before, now]
            for name, before, now in scenario_sizes.compared(found.original, found.scenario)
        ],
    )


def _how_to_run(specimen: specimens.Specimen, found: Findings) -> Iterator[str]:
    # Needs what starts clusters, which machines that only judge do not have.
    from harness.reproduction.issue import run_instructions

    yield "## How to run it"
    yield (
        f"Install Flake Hunt and save this as `{run_instructions.FILE}`. "
        "Exit code 10 means that the violation was found."
    )
    yield markdown.folded(
        run_instructions.FILE, markdown.block(found.scenario_text.splitlines(), "toml")
    )
    versions = {**specimen.plan.versions, **specimen.cluster_versions}
    kubernetes = {name: text for name, text in versions.items() if "kube" in f"{name} {text}"}
    for item in run_instructions.instructions(found.scenario, specimen.plan, kubernetes):
        yield f"**{item.title}.** {item.needs}"
        yield markdown.block([item.command], "sh")


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


def _deciding_writes(specimen: specimens.Specimen) -> Iterator[str]:
    if not isinstance(specimen.violation, verdicts.DoubleAllocation):
        return
    writes = specimen.stored.of(specimen.violation)
    yield from ["## The deciding writes"] if writes else []
    for write in writes:
        after = (write.ts_ns - specimen.zero_ns) / 1e6
        yield f"{markdown.text(write.title)}, resourceVersion {write.resource_version}, {after:+,.3f} ms:"
        yield markdown.block((f"{line.sign} {line.text}" for line in write.lines), "diff")


# ------------------------------------------------------------------------------- repeating it


def _repeating(plan: plans.Plan) -> Iterator[str]:
    token = str(plan.settings.get("token") or "")
    words = ["replay", token] if token else plan.again
    if not words:
        return
    yield "## Repeat it"
    version, commit = plan.versions.get("flake-hunt", ""), plan.versions.get("commit", "")
    lines = [f"pip install flake-hunt=={version}" + f"  # or its commit {commit}" * bool(commit)]
    yield markdown.block([*lines, _command(words)], "sh")
    text = f"Scenario {markdown.code(plan.scenario)}, seed {plan.seed}; exit code 10 means that it was found."
    if _is_script(plan) or token:
        yield text
        return
    yield f"{text} A race may need several tries."
    if confirming := _confirming(plan):
        yield f"Without luck, the same hazard ({plan.known_to_fail}) with the order of its events commanded:"
        yield markdown.block([_command(confirming)], "sh")


def _command(words: Sequence[str]) -> str:
    return shlex.join(["flake-hunt", *(texts.program(word) for word in words)])


def _confirming(plan: plans.Plan) -> list[str]:
    """Return the arguments that play a script of the hazard of the run; empty: it has none."""
    page = hazards.find(plan.known_to_fail)
    if page is None or not hazards.scripts(page.hazard):
        return []
    options = [word for name in _KEPT for text in _option(plan, name) for word in (name, text)]
    options += ["--as", plan.release] if plan.release and subject_names.is_ours(plan) else []
    return ["confirm", page.hazard.id, *options]


def _is_script(plan: plans.Plan) -> bool:
    traffic = plan.settings.get("traffic")
    return isinstance(traffic, dict) and traffic.get("profile") == "script"


def _option(plan: plans.Plan, name: str) -> list[str]:
    pairs = zip(plan.again, plan.again[1:], strict=False)
    given = [value for option, value in pairs if option == name]
    return given + [word.partition("=")[2] for word in plan.again if word.startswith(f"{name}=")]
