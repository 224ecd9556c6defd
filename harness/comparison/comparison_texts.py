"""A comparison as tables of short texts: for the terminal, and for Markdown."""

import dataclasses
from collections.abc import Iterator, Sequence

from harness import rates
from harness.comparison import comparing, documents

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


def tables(comparison: documents.Comparison) -> Iterator[Table]:
    first, second = (side.label for side in comparison.sides)
    yield Table(
        title="Compared",
        head=("", "runs of", "runs", "VALID", "UNKNOWN", "INVALID"),
        rows=[_side(side) for side in comparison.sides],
        notes=[note for side in comparison.sides for note in _side_notes(side)],
    )
    yield Table(
        title="Settings that differ",
        head=("setting", first, second, "in"),
        rows=[_setting(item, len(comparison.scenario_rows)) for item in comparison.settings],
        empty="None: the compared runs have the same settings.",
    )
    yield Table(
        title="Violations",
        head=("scenario", "subject", first, second, "p", "answer"),
        rows=rates_table(comparison),
        notes=[*comparison.cautions, _METHOD],
        empty="No runs can be compared.",
    )
    if comparison.not_compared:
        yield Table(
            title="Not compared",
            head=("", "scenario", "subject", "runs", "because"),
            rows=[
                (item.side, item.scenario, item.subject, str(item.runs), item.reason)
                for item in comparison.not_compared
            ],
        )


_METHOD = (
    "Rates are of INVALID among VALID and INVALID runs, with exact 95 % intervals "
    "(Clopper-Pearson). Each scenario is tested by Boschloo's exact test, all together by an exact "
    "stratified test; the answers hold together with 95 % confidence (Holm). No difference is found "
    "only where one of 50 percentage points or more is excluded."
)


def rates_table(comparison: documents.Comparison) -> list[tuple[str, ...]]:
    """Return the cells of all rows: what differs first, then what failed, all together at last."""
    ordered = sorted(comparison.scenario_rows, key=_importance)
    return [_row(row) for row in (*ordered, *comparison.rows[len(ordered) :])]


def _importance(row: documents.Row) -> tuple[bool, int, str]:
    return not row.answer.is_different, -row.first.invalid - row.second.invalid, row.scenario


def _row(row: documents.Row) -> tuple[str, ...]:
    first, second = row.first, row.second
    p_value = "< 0.001" if row.p_value < 0.001 else f"{row.p_value:.2g}"
    return row.scenario, row.subject, _rate(first), _rate(second), p_value, row.answer


def _rate(found: documents.Outcomes) -> str:
    interval = rates.span(found.low, found.high, "–")
    return f"{found.invalid} of {found.conclusive} ({interval} %)"


def _side(side: documents.Side) -> tuple[str, ...]:
    counts = map(str, (side.runs, side.valid, side.unknown, side.invalid))
    return side.label, f"{side.kind} {side.path}", *counts


def _side_notes(side: documents.Side) -> Iterator[str]:
    if side.left_out:
        yield f"{side.label}: left out: {comparing.shortened(side.left_out, _VALUES_MAX)}"
    if side.copies:
        yield f"{side.label}: {side.copies} copies of these runs are not counted"
    if side.others:
        yield f"{side.label}: {side.others} runs of controls, hazards and remedies are not compared"


def _setting(item: documents.SettingDifference, scenario_count: int) -> tuple[str, ...]:
    mine, theirs = (
        comparing.shortened(values, _VALUES_MAX) or "not set"
        for values in (item.first_values, item.second_values)
    )
    is_everywhere = len(item.scenarios) == scenario_count > 1
    where = "all scenarios" if is_everywhere else comparing.shortened(item.scenarios, _VALUES_MAX)
    return item.key, mine, theirs, where
