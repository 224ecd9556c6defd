"""The README.md of a reproduction, ready to be pasted into a Kubernetes issue."""

import dataclasses
from collections.abc import Iterator

from harness.checks import verdicts
from harness.reproduction.issue import (
    markdown,
    run_instructions,
    scenario_sizes,
    specimens,
    text_strips,
)
from harness.scenario import specs
from harness.statistics import rates

PICTURE = "strip.svg"
"""Name of the picture's file in the folder."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything that the page tells."""

    original: specs.Scenario
    scenario: specs.Scenario
    """The smallest scenario that still fails."""
    scenario_text: str
    """The content of its file."""
    rate: rates.Rate
    specimen: specimens.Specimen
    is_interrupted: bool = False
    """True if the search was interrupted: a smaller scenario may exist."""


def page(found: Findings) -> str:
    """Return the page."""
    return "\n\n".join(part for part in _parts(found) if part) + "\n"


def _parts(found: Findings) -> Iterator[str]:
    yield f"# {_title(found)}"
    yield from _what_happened(found)
    yield from _how_often(found)
    yield from _versions(found.specimen)
    yield from _how_to_run(found)
    yield from _strip(found.specimen)
    yield from _writes(found.specimen)
    yield from _logs(found.specimen)


def _title(found: Findings) -> str:
    scheduler = _scheduler(found.specimen)
    if isinstance(found.specimen.violation, verdicts.DoubleAllocation):
        return f"{scheduler} allocates one device to two ResourceClaims"
    return f"{scheduler} breaks the guarantee “{markdown.text(found.specimen.check.promise)}”"


def _scheduler(specimen: specimens.Specimen) -> str:
    """Return the scheduler with its version; of ours, with its known defects and remedies."""
    plan = specimen.plan
    if plan.subject != "python":
        return markdown.text(plan.versions.get("scheduler") or plan.subject)
    changes = [f"defect {name}" for name in plan.defects]
    changes += [f"remedy {name}" for name in plan.remedies]
    added = f" with {', '.join(changes)}" if changes else ""
    return markdown.text(f"Flake Hunt's Python port of kube-scheduler{added}")


def _what_happened(found: Findings) -> Iterator[str]:
    specimen = found.specimen
    yield "## What happened"
    yield markdown.text(specimen.violation.text)
    if specimen.violation.attribution:
        yield f"Faults behind it: {markdown.text(specimen.violation.attribution)}."
    if specimen.strip is not None:
        yield markdown.text(specimen.strip.explanation)
    if specimen.plan.faults:
        yield "The faults were injected on purpose:"
        rows = (
            f"- {markdown.code(item.name)}: {markdown.text(item.text)}"
            for item in specimen.plan.faults
        )
        yield "\n".join(rows)
    yield f"Expected: {markdown.text(specimen.check.promise)}."


def _how_often(found: Findings) -> Iterator[str]:
    yield "## How often"
    low, high = found.rate.interval
    yield (
        f"It failed in **{found.rate.failed} of {found.rate.runs} runs** of the scenario below, each with "
        f"another seed. The exact (Clopper-Pearson) {rates.CONFIDENCE:.0%} confidence interval of the "
        f"rate is {low:.0%} to {high:.0%}."
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


def _versions(specimen: specimens.Specimen) -> Iterator[str]:
    yield "## Versions"
    plan = specimen.plan
    own = ("flake-hunt", "commit", "python", "platform")
    rows = {"cluster": plan.cluster, **specimen.cluster_versions}
    rows |= {name: text for name, text in plan.versions.items() if name.startswith("scheduler")}
    rows |= {name: plan.versions[name] for name in own if name in plan.versions}
    yield markdown.table(
        ("component", "version"),
        [[markdown.text(name), markdown.text(version)] for name, version in rows.items()],
    )


def _how_to_run(found: Findings) -> Iterator[str]:
    specimen = found.specimen
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
        yield markdown.block(item.commands, "sh")


def _strip(specimen: specimens.Specimen) -> Iterator[str]:
    if specimen.strip is None or not isinstance(specimen.violation, verdicts.DoubleAllocation):
        return
    yield "## The moment"
    yield f"![Both claims, the faults and the scheduler's steps over time]({PICTURE})"
    yield "Times are relative to the moment at which the scheduler chose the device for claim B."
    yield markdown.block(text_strips.bars(specimen.violation, specimen.zero_ns), "text")
    if lines := text_strips.steps(specimen.violation, specimen.steps, specimen.zero_ns):
        yield markdown.folded("The scheduler's steps", markdown.block(lines, "text"))


def _writes(specimen: specimens.Specimen) -> Iterator[str]:
    if not specimen.writes:
        return
    yield "## The writes of the claims"
    yield "As the API server published them, in the order of their commits:"
    rows = [
        [
            f"{write.resource_version}",
            f"{(write.ts_ns - specimen.zero_ns) / 1e6:+.1f}",
            f"{write.claim.letter} {markdown.code(write.claim.name)}",
            write.event,
            markdown.text(write.state),
        ]
        for write in specimen.writes
    ]
    yield markdown.table(("resourceVersion", "ms", "claim", "event", "state after it"), rows)


def _logs(specimen: specimens.Specimen) -> Iterator[str]:
    if not specimen.logs:
        return
    yield "## The scheduler's log"
    yield "Lines that name one of the claims, their pods or the device:"
    for excerpt in specimen.logs:
        more = f", {excerpt.left_out} lines left out" if excerpt.left_out else ""
        yield markdown.folded(f"{excerpt.name}{more}", markdown.block(excerpt.lines, "text"))
