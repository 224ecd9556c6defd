"""A comparison as one self-contained page."""

import pathlib

from harness import writing
from harness.comparison import comparison_texts, documents, run_plots
from harness.comparison.documents import Answer
from harness.report import page_templates

SPREADS_MAX = 20
"""Pairs whose spreads are drawn; those that differ come first, and the tables have all."""
_LOOKS = {Answer.SAME: "VALID", Answer.DIFFERENT: "INVALID", Answer.UNDECIDED: "UNKNOWN"}
_SYMBOLS = {Answer.SAME: "=", Answer.DIFFERENT: "≠", Answer.UNDECIDED: "?"}


def write(path: pathlib.Path, comparison: documents.Comparison) -> None:
    """Write the page atomically.

    Raises StorageError or UnwritableError if that fails.
    """
    writing.replace(path, page(comparison).encode())


def page(comparison: documents.Comparison) -> str:
    """Return the page; the same bytes for the same comparison."""
    timed = [pair for pair in comparison.pairs if pair.times]
    timed.sort(key=lambda pair: all(time.answer is not Answer.DIFFERENT for time in pair.times))
    return (
        page_templates.templates()
        .get_template("comparison.html.j2")
        .render(
            comparison=comparison,
            look=_LOOKS[comparison.answer],
            symbol=_SYMBOLS[comparison.answer],
            tables=comparison_texts.tables(comparison),
            scatter=run_plots.scatter(comparison),
            left_out=run_plots.left_out(comparison),
            keys=[(side, run_plots.legend(number)) for number, side in enumerate(comparison.sides)],
            spreads=[(pair, run_plots.spreads(pair, comparison)) for pair in timed[:SPREADS_MAX]],
            spreads_left_out=max(len(timed) - SPREADS_MAX, 0),
        )
    )
