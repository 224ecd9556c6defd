"""The document as one self-contained page."""

from harness.report import page_templates
from harness.report.explanations import texts
from harness.report.explanations.documents import Explanation

SHOWN_MAX = 200
"""Double allocations, and stale reads, that the page shows in full."""


def page(explanation: Explanation) -> str:
    """Return the page; the same for the same document."""
    return (
        page_templates.templates()
        .get_template("explanation.html.j2")
        .render(
            explanation=explanation,
            double_allocations=explanation.double_allocations[:SHOWN_MAX],
            left_out=max(explanation.double_allocation_count - SHOWN_MAX, 0),
            stale_gathers=explanation.stale_gathers[:SHOWN_MAX],
            symbol={"VALID": "✓", "INVALID": "✗", "UNKNOWN": "?"}[explanation.verdict],
            signature=texts.signature,
            stale_read=texts.stale_read,
            window=texts.window,
            duration=texts.shown,
            place=lambda line: texts.place(line, explanation),
        )
    )
