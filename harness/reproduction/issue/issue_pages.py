"""The README.md of a reproduction, ready to be pasted into a Kubernetes issue."""

import dataclasses
from collections.abc import Iterator

from harness import rates
from harness.checks import verdicts
from harness.reproduction.issue import (
    markdown,
    run_instructions,
    scenario_sizes,
    specimen_sections,
    specimens,
)
from harness.scenario import specs

PICTURE = "strip.svg"
"""Name of the picture's file in the folder."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The content of the page."""

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
    return "\n\n".join(part for part in _parts(found) if part) + "\n"


def _parts(found: Findings) -> Iterator[str]:
    yield f"# {_title(found)}"
    yield from _what_happened(found)
    yield from _how_often(found)
    yield from specimen_sections.versions(found.specimen.plan, found.specimen.cluster_versions)
    yield from _how_to_run(found)
    yield from specimen_sections.strip(found.specimen, picture=PICTURE)
    yield from specimen_sections.steps_section(found.specimen)
    yield from specimen_sections.writes(found.specimen)
    yield from specimen_sections.logs(found.specimen)


def _title(found: Findings) -> str:
    scheduler = specimen_sections.scheduler(found.specimen.plan)
    if isinstance(found.specimen.violation, verdicts.DoubleAllocation):
        return f"{scheduler} allocates one device to two ResourceClaims"
    return f"{scheduler} breaks the guarantee “{markdown.text(found.specimen.check.promise)}”"


def _what_happened(found: Findings) -> Iterator[str]:
    specimen = found.specimen
    yield "## What happened"
    yield markdown.text(specimen.violation.text)
    if specimen.violation.attribution:
        yield f"Faults behind it: {markdown.text(specimen.violation.attribution)}."
    if specimen.strip is not None:
        yield markdown.text(specimen.strip.why)
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
