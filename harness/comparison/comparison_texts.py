"""A comparison as tables of short texts, and as a comment on a change, in Markdown.

A comment begins with the answer. Names in it come from files, and are not obeyed.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from harness import rates
from harness.comparison import comparing, documents
from harness.comparison.documents import Answer
from harness.report import escaping

_VALUES_MAX = 3
"""Values, settings or scenarios that one line names."""


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


LABELS = ("base", "change")
MARK = "<!-- flake-hunt -->"
"""The last line of a comment, by which a later one finds it and takes its place."""
_ROWS_MAX = 8
_FAILURES_MAX = 5
_REASON_MAX = 300
"""Characters of what one run found."""
_EXPECTED = ("judges", "settings.subject", "subject", "versions.")
"""Beginnings of settings that differ because the program does, or of which another line tells."""
_TITLES = {
    Answer.WORSE: "worse than the base, by more than chance",
    Answer.BETTER: "better than the base, by more than chance",
    Answer.SAME: "no difference found",
    Answer.UNDECIDED: "cannot tell whether this change is worse",
}


def markdown(comparison: documents.Comparison, *, link: str = "") -> str:
    """Return the comment on a comparison of two sides, the base first.

    `link`: where pictures and reports are; empty: they are not named.
    """
    parts = [
        [f"**Flake Hunt: {_title(comparison)}.** {escaping.in_markdown(comparison.summary)}."],
        [
            f"- {escaping.in_markdown(f'{side.label}: {side.headline}')}"
            for side in comparison.sides
            if side.headline
        ],
        _table(comparison),
        _listed("New with this change:", list(_failures(comparison))),
        [f"[Pictures and reports]({_address(link)})"] if link else [],
        _listed("To know when reading it:", list(_cautions(comparison))),
        [MARK],
    ]
    return "\n".join("\n".join([*part, ""]) for part in parts if part)


def _title(comparison: documents.Comparison) -> str:
    is_clean = not any(row.first.invalid or row.second.invalid for row in comparison.rows)
    is_undecided = comparison.answer is Answer.UNDECIDED and not comparison.doubts
    if comparison.rows and is_undecided and is_clean:
        return "nothing found, with this change or without it"
    return _TITLES[comparison.answer]


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [title, "", *(f"- {escaping.in_markdown(line)}" for line in lines)] if lines else []


def _address(link: str) -> str:
    """Return a link that cannot end the parentheses around it."""
    return link.translate({ord(" "): "%20", ord("("): "%28", ord(")"): "%29", ord("\n"): None})


def _table(comparison: documents.Comparison) -> list[str]:
    rows = rates_table(comparison)
    if not rows:
        return []
    lines = ["| scenario | base | change | answer |", "|---|---:|---:|---|"]
    for scenario, _, base, change, *_, answer in rows[:_ROWS_MAX]:
        cells = map(escaping.in_markdown, (scenario, base, change, answer))
        lines.append(f"| {' | '.join(cells)} |")
    more = f"; {len(rows) - _ROWS_MAX} more rows" if len(rows) > _ROWS_MAX else ""
    note = "INVALID runs of those that are VALID or INVALID, with exact 95 % intervals"
    return [*lines, "", f"<sub>{note}{more}.</sub>"]


def _failures(comparison: documents.Comparison) -> Iterator[str]:
    """Yield each scenario that is INVALID with the change only, with what its first run found."""
    rows = comparison.scenario_rows
    new = [row for row in rows if row.second.invalid and not row.first.invalid]
    for row in new[:_FAILURES_MAX]:
        place = "/".join(row.second.directory.rsplit("/", 2)[-2:])
        yield f"{row.scenario}: {row.second.finding[:_REASON_MAX]} ({place})"
    if len(new) > _FAILURES_MAX:
        yield f"and {len(new) - _FAILURES_MAX} more scenarios"


def _cautions(comparison: documents.Comparison) -> Iterator[str]:
    yield from comparison.cautions
    keys = [item.key for item in comparison.settings if not item.key.startswith(_EXPECTED)]
    if keys:
        yield f"settings that differ: {comparing.shortened(list(dict.fromkeys(keys)), _VALUES_MAX)}"
    if names := [f"{item.scenario} ({item.reason})" for item in comparison.not_compared]:
        yield f"not compared: {comparing.shortened(list(dict.fromkeys(names)), _VALUES_MAX)}"
    if not any(side.caught or side.missed for side in comparison.sides):
        yield "no side has positive controls, which would show that its runs can find something"
    for side in comparison.sides:
        if side.left_out:
            yield f"{side.label}: {len(side.left_out)} runs cannot be read"
