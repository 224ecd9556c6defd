"""The templates of all pages; importing it loads nothing that judges."""

import functools
from typing import Any

import jinja2

from harness.checks import verdicts
from harness.report import escaping

SYMBOLS = {
    verdicts.Verdict.VALID: "✓",
    verdicts.Verdict.UNKNOWN: "?",
    verdicts.Verdict.INVALID: "✗",
}


@functools.cache
def templates() -> jinja2.Environment:
    """Return the templates; they escape all text except the SVG that this package draws."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("harness.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
    )


def _finalize(value: Any) -> Any:
    return escaping.visible(value) if type(value) is str else value  # not Markup, a str subclass
