"""A page with the results of rules, in one file."""

import functools
import importlib.resources
import re
from collections.abc import Sequence
from typing import Any

import yaml

from harness import clocks
from harness.conformance import results, rules
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
        (str(outcome), [item for item in found if item.outcome is outcome]) for outcome in _ORDER
    ]
    template = page_templates.templates().get_template(_TEMPLATE)
    return template.render(
        name=name,
        verdict=results.verdict(found, fail_on),
        facts=[results.counted(found), *facts, clocks.wall_text()],
        sections=[(title, items) for title, items in sections if items],
        address=address,
        log=log,
    )


def address(source: str) -> str:
    """Return the address of a source; empty if no form of `sources.yaml` is its own."""
    for form, found in _addresses().items():
        if match := re.fullmatch(form, source):
            return match.expand(found)
    return ""


@functools.cache
def _addresses() -> Any:
    text = importlib.resources.files(__package__).joinpath("sources.yaml").read_text("utf-8")
    return yaml.safe_load(text)
