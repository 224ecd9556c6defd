"""A comparison as tables of short texts, for the terminal and for the page."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from harness.comparison import documents
from harness.comparison.documents import Answer
from harness.statistics import rates

ROWS_MAX = 20
"""Rows of one table on a terminal, unless all are asked for; those that differ come first."""
_VALUES_MAX = 3
"""Values of one setting that are named."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table with a title."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    empty: str = ""
    """The text instead of the table if it has no rows."""


def tables(comparison: documents.Comparison) -> list[Table]:
    """Return all tables, in the order in which they are read."""
    found = [_sides(comparison), _settings(comparison), _rates(comparison), _times(comparison)]
    return [*found, _not_compared(comparison)] if comparison.not_compared else found


def shortened(table: Table) -> Table:
    """Return a table with ROWS_MAX rows, and a note about the others."""
    left = len(table.rows) - ROWS_MAX
    if left <= 0:
        return table
    notes = (f"… and {left} more: --verbose, --html or --json", *table.notes)
    return dataclasses.replace(table, rows=table.rows[:ROWS_MAX], notes=notes)


def p_value(value: float) -> str:
    """Return a p-value with two digits."""
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def _sides(comparison: documents.Comparison) -> Table:
    rows = [
        (
            side.label,
            f"{side.kind} {side.path}",
            str(side.runs),
            str(side.valid),
            str(side.unknown),
            str(side.invalid),
        )
        for side in comparison.sides
    ]
    notes = [
        f"{side.label}: left out: {text}"
        for side in comparison.sides
        for text in _some(side.left_out)
    ]
    for side in comparison.sides:
        if side.copies:
            notes.append(f"{side.label}: {side.copies} copies of these runs are not counted")
        if side.others:
            notes.append(
                f"{side.label}: {side.others} runs of controls, hazards and remedies are not compared"
            )
    return Table(
        title="Compared",
        head=("", "runs of", "runs", "VALID", "UNKNOWN", "INVALID"),
        rows=rows,
        notes=notes,
    )


def _settings(comparison: documents.Comparison) -> Table:
    everywhere = len({pair.scenario for pair in comparison.pairs})
    rows = [
        (
            item.key,
            f"{item.first}: {_values(item.first_values)}",
            f"{item.second}: {_values(item.second_values)}",
            _where(item.scenarios, everywhere),
        )
        for item in comparison.settings
    ]
    return Table(
        title="Settings that differ",
        head=("setting", "", "", "in"),
        rows=rows,
        empty="None: the compared runs have the same settings.",
    )


def _rates(comparison: documents.Comparison) -> Table:
    ordered = sorted(comparison.pairs, key=lambda pair: pair.answer is not Answer.DIFFERENT)
    notes = [f"{item.text} (p = {p_value(item.p_value)})" for item in comparison.overall]
    notes += dict.fromkeys(
        f"{pair.scenario}: {text}" for pair in comparison.pairs for text in pair.cautions
    )
    notes.append(
        "Rates are of INVALID among VALID and INVALID runs, with exact "
        f"{comparison.confidence:.0%} intervals (Clopper-Pearson). Each scenario is tested by "
        "Boschloo's exact test, all together by an exact stratified test; the answers hold "
        f"together with {comparison.confidence:.0%} confidence (Holm). No difference is found only "
        f"where one of {documents.LARGE * 100:.0f} percentage points or more is excluded.".replace(
            "%", " %"
        )
    )
    return Table(
        title="Violations",
        head=("scenario", "subject", "", "", "p", "answer"),
        rows=[_rate_row(pair) for pair in ordered],
        notes=notes,
        empty="No runs can be compared.",
    )


def _rate_row(pair: documents.PairComparison) -> tuple[str, ...]:
    outcomes = (pair.first_outcomes, pair.second_outcomes)
    labels = (pair.first, pair.second)
    is_one = pair.first_outcomes.subject == pair.second_outcomes.subject
    cells = [
        f"{label} {_rate(found, '' if is_one else f'{found.subject}: ')}"
        for label, found in zip(labels, outcomes, strict=True)
    ]
    return pair.scenario, subjects(pair), *cells, p_value(pair.p_value), answer(pair)


def subjects(pair: documents.PairComparison) -> str:
    """Return the subject of a pair; both if they differ."""
    names = (pair.first_outcomes.subject, pair.second_outcomes.subject)
    return " against ".join(dict.fromkeys(names))


def answer(pair: documents.PairComparison) -> str:
    """Return the answer about a pair in a few words."""
    if pair.answer is not Answer.DIFFERENT:
        return str(pair.answer)
    first, second = pair.first_outcomes.share or 0.0, pair.second_outcomes.share or 0.0
    return f"{pair.second if second > first else pair.first} is worse"


def _rate(found: documents.Outcomes, subject: str) -> str:
    rate = f"{found.invalid} of {found.conclusive}"
    return f"{subject}{rate} ({rates.span(found.low, found.high, '–')} %)"


def _times(comparison: documents.Comparison) -> Table:
    every = [(pair, time) for pair in comparison.pairs for time in pair.times]
    every.sort(key=lambda found: found[1].answer is not Answer.DIFFERENT)
    notes = dict.fromkeys(
        f"{pair.scenario}: not compared: {pair.times_left_out}"
        for pair in comparison.pairs
        if pair.times_left_out
    )
    method = (
        "Medians of the runs, with least and most. p is of the rank sum test; the answers hold "
        f"together with {comparison.confidence:.0%} confidence (Holm). Intervals of the change are "
        f"by bootstrap, seed {comparison.seed}. They do not decide the exit code."
    ).replace("%", " %")
    return Table(
        title="Throughput and latency",
        head=("scenario", "subject", "figure", "", "", "change", "p", "answer"),
        rows=[_time_row(pair, time) for pair, time in every],
        notes=[*notes, *([method] if every else [])],
        empty="Not compared.",
    )


def _time_row(pair: documents.PairComparison, time: documents.TimeComparison) -> tuple[str, ...]:
    return (
        pair.scenario,
        subjects(pair),
        f"{time.name} ({time.unit})",
        f"{pair.first} {_spread(time.first)}",
        f"{pair.second} {_spread(time.second)}",
        change(time),
        p_value(time.p_value),
        str(time.answer),
    )


def _spread(found: documents.Spread) -> str:
    return f"{found.median or 0:.5g} ({found.least or 0:.5g}–{found.most or 0:.5g})"


def change(time: documents.TimeComparison) -> str:
    """Return the interval of the change, relative to the first side if that is not zero."""
    low, high, median = time.change_low, time.change_high, time.first.median
    if low is None or high is None:
        return "too few runs"
    if not median:
        return f"{float(rates.lower(low)):+g} to {float(rates.upper(high)):+g} {time.unit}"
    least, most = rates.lower(low / median * 100), rates.upper(high / median * 100)
    return f"{float(least):+g} to {float(most):+g} %"


def _not_compared(comparison: documents.Comparison) -> Table:
    rows = [
        (item.side, item.scenario, item.subject, str(item.runs), item.reason)
        for item in comparison.not_compared
    ]
    return Table(
        title="Not compared", head=("", "scenario", "subject", "runs", "because"), rows=rows
    )


def _values(values: Sequence[str]) -> str:
    return ", ".join(_some(values)) or "not set"


def _some(values: Iterable[str]) -> Iterator[str]:
    """Yield the first values, and how many more there are."""
    found = list(values)
    yield from found[:_VALUES_MAX]
    if len(found) > _VALUES_MAX:
        yield f"{len(found) - _VALUES_MAX} more"


def _where(scenarios: Sequence[str], everywhere: int) -> str:
    if len(scenarios) == everywhere:
        return "all scenarios" if everywhere > 1 else scenarios[0]
    return ", ".join(_some(scenarios))
