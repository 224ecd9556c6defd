"""The templates of all pages; importing it loads nothing that judges."""

import base64
import functools
import hashlib

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
        # not Markup, a str subclass
        finalize=lambda value: escaping.visible(value) if type(value) is str else value,
    )


@functools.cache
def script() -> str:
    """Return the script of a page, which steps through races; a page shows all without it."""
    return jinja2.PackageLoader("harness.report").get_source(templates(), "replay.js")[0]


def digest(script: str) -> str:
    found = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(found).decode()}"
