"""A page with the results of rules, in one file."""

from collections.abc import Sequence

from harness import clocks
from harness.conformance import results
from harness.report import page_templates

_TEMPLATE = "rules.html.j2"
_ORDER = (
    results.Outcome.FAILED,
    results.Outcome.UNDECIDED,
    results.Outcome.SKIPPED,
    results.Outcome.HELD,
)


def render(name: str, found: Sequence[results.Result]) -> str:
    """Return the page; `name` says what was tested."""
    sections = [
        (outcome, [item for item in found if item.outcome is outcome]) for outcome in _ORDER
    ]
    return (
        page_templates.templates()
        .get_template(_TEMPLATE)
        .render(
            name=name,
            verdict=results.verdict(found),
            counts=results.counted(found),
            sections=[(str(outcome), items) for outcome, items in sections if items],
            date=clocks.wall_text(),
        )
    )
