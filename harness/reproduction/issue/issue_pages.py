"""The README.md of a reproduction, ready to be pasted into a Kubernetes issue, and its picture."""

import dataclasses
import re
from collections.abc import Iterator

from harness import rates
from harness.report import drawing, page_templates
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
    yield specimen_sections.title(found.specimen)
    yield from specimen_sections.moment(found.specimen, picture=PICTURE)
    yield f"Expected: {markdown.text(found.specimen.check.promise)}."
    yield from _how_often(found)
    yield from specimen_sections.versions(found.specimen.plan, found.specimen.cluster_versions)
    yield from _how_to_run(found)
    yield from specimen_sections.steps_section(found.specimen)
    yield from specimen_sections.writes(found.specimen)
    yield from specimen_sections.logs(found.specimen)


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


# ------------------------------------------------------------------------------- the picture

_HATCH = (
    '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="3" height="8" fill="#b3261e" '
    'fill-opacity=".55"/></pattern></defs>'
)
"""Pattern of the style's class `overlap`, as on the report's page."""
_OPENING = re.compile(r'<svg class="plot" width="100%" height="([\d.]+)"')
_WIDTH, _MARGIN = 960, 12
"""Pixels."""


def standalone(picture: str) -> str:
    """Return a picture of `report.drawing` as the content of an SVG file.

    Raises ValueError for a text that is not such a picture.
    """
    found = _OPENING.match(picture)
    if found is None:
        raise ValueError("expected a picture of harness.report.drawing")
    height = float(found[1])
    inner = f'<svg class="plot" x="{_MARGIN}" y="{_MARGIN}" width="{_WIDTH}" height="{height:g}"'
    width, height = _WIDTH + 2 * _MARGIN, height + 2 * _MARGIN
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}">'
    ground = drawing.rect(0, 0, drawing.WIDTH, height, kind="ground")
    return f"{opening}{_style()}{_HATCH}{ground}{inner}{picture[found.end() :]}</svg>\n"


def _style() -> str:
    style = page_templates.templates().get_template("style.css.j2").render()
    return f"<style><![CDATA[{style}.ground{{fill:var(--bg)}}]]></style>"
