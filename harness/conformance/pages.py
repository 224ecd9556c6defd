"""A page with the results of rules, in one file."""

from collections.abc import Sequence

from harness import clocks
from harness.conformance import results, rules, sources
from harness.report import page_templates

_TEMPLATE = "rules.html.j2"
_ORDER = (
    results.Outcome.FAILED,
    results.Outcome.UNDECIDED,
    results.Outcome.SKIPPED,
    results.Outcome.HELD,
)


def render(
    name: str,
    found: Sequence[results.Result],
    *,
    fail_on: rules.Level = rules.Level.MUST,
    facts: Sequence[str] = (),
    log: str = "",
) -> str:
    """Return the page; `name` says what was tested, `log` where the page finds what it printed."""
    sections = [
        (outcome, [item for item in found if item.outcome is outcome]) for outcome in _ORDER
    ]
    return (
        page_templates.templates()
        .get_template(_TEMPLATE)
        .render(
            name=name,
            verdict=results.verdict(found, fail_on),
            facts=[results.counted(found), *facts, clocks.wall_text()],
            sections=[(str(outcome), items) for outcome, items in sections if items],
            address=sources.address,
            log=log,
        )
    )
