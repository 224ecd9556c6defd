"""A campaign of a change against one of its base, as the text of a comment: short, in Markdown.

It begins with the answer. Names in it come from files, and are not obeyed.
"""

from collections.abc import Iterator, Sequence

from harness.comparison import comparison_texts, documents
from harness.comparison.documents import Answer, FixAnswer
from harness.report import escaping
from harness.statistics import rates

LABELS = ("base", "change")
MARK = "<!-- flake-hunt -->"
"""The last line of a comment, by which a later one finds it and takes its place."""
_ROWS_MAX = 8
_FAILURES_MAX = 5
_REASON_MAX = 300
"""Characters of what one run found."""
_SOME = 3
"""Settings, figures or scenarios that one line names."""
_EXPECTED = ("judges", "settings.subject", "subject", "versions.")
"""Beginnings of settings that differ because the program does, or of which another line tells."""


def markdown(comparison: documents.Comparison, *, link: str = "") -> str:
    """Return the comment on a comparison of two sides, the base first.

    `link`: where pictures and reports are; empty: they are not named.
    """
    title, rates = map(escaping.in_markdown, _answer(comparison))
    parts = [
        [f"**Flake Hunt: {title}.** {rates}"],
        [f"- {line}" for line in _headlines(comparison)],
        _table(comparison),
        _listed("New with this change:", list(_failures(comparison))),
        [f"[Pictures and reports]({_address(link)})"] if link else [],
        _listed("To know when reading it:", list(_cautions(comparison))),
        [MARK],
    ]
    return "\n".join("\n".join([*part, ""]) for part in parts if part)


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [title, "", *(f"- {escaping.in_markdown(line)}" for line in lines)] if lines else []


def _address(link: str) -> str:
    """Return a link that cannot end the parentheses around it."""
    return link.translate({ord(" "): "%20", ord("("): "%28", ord(")"): "%29", ord("\n"): None})


def _answer(comparison: documents.Comparison) -> tuple[str, str]:
    """Return the answer in a few words, and the rates that decide it."""
    unsure = "cannot tell whether this change is worse"
    if comparison.doubts:
        return unsure, _sentence("; ".join(comparison.doubts))
    if not comparison.pairs:
        reasons = dict.fromkeys(item.reason for item in comparison.not_compared)
        return unsure, _sentence(f"no runs can be compared: {'; '.join(reasons)}")
    if comparison.answer is Answer.DIFFERENT:
        return _different(comparison)
    base, change = _invalid(comparison)
    if comparison.answer is Answer.SAME:
        return "no difference found", _sentence(f"{_same(base, change)}; {_excluded(comparison)}")
    if not (base or change):
        title = "nothing found, with this change or without it"
        return title, _sentence(
            f"the runs are too few to exclude a difference of {documents.LARGE * 100:.0f} "
            "percentage points"
        )
    if not change:
        return "cannot tell whether this change is better", _sentence(_example(comparison))
    return unsure, _sentence(_example(comparison))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _different(comparison: documents.Comparison) -> tuple[str, str]:
    is_worse = any(fix.answer is FixAnswer.WORSE for fix in comparison.fixes)
    title = f"{'worse' if is_worse else 'better'} than the base, by more than chance"
    deciding = [pair for pair in comparison.pairs if pair.answer is Answer.DIFFERENT]
    deciding = [pair for pair in deciding if (_rise(pair) > 0) == is_worse]
    if not deciding:
        together = comparison.overall[0]
        test = f"exact stratified test, {_p_value(together)}"
        return title, f"Shown by {together.pairs} scenarios together, by none alone ({test})."
    found = max(deciding, key=lambda pair: abs(_rise(pair)))
    others = len(deciding) - 1
    more = f"; so {'is 1 more scenario' if others == 1 else f'are {others} more scenarios'}"
    test = f"Boschloo's exact test, {_p_value(found)}"
    return title, f"{_shares(found)}{more * bool(others)} ({test})."


def _p_value(found: documents.PairComparison | documents.OverallComparison) -> str:
    value = found.p_value if found.corrected_p_value is None else found.corrected_p_value
    text = comparison_texts.p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _rise(pair: documents.PairComparison) -> float:
    return (pair.second_outcomes.share or 0.0) - (pair.first_outcomes.share or 0.0)


def _shares(pair: documents.PairComparison) -> str:
    """Return the rates of a scenario in a clause, that with the change first."""
    return (
        f"{pair.scenario} is INVALID in {_rate(pair.second_outcomes, ' runs')} with this change, and in "
        f"{_rate(pair.first_outcomes)} without it"
    )


def _rate(found: documents.Outcomes, noun: str = "") -> str:
    interval = rates.span(found.low, found.high, "–")
    return f"{found.invalid} of {found.conclusive}{noun} ({interval} %)"


def _invalid(comparison: documents.Comparison) -> tuple[int, int]:
    """Return the number of INVALID runs of base and change that are compared."""
    return (
        sum(pair.first_outcomes.invalid for pair in comparison.pairs),
        sum(pair.second_outcomes.invalid for pair in comparison.pairs),
    )


def _same(base: int, change: int) -> str:
    if not (base or change):
        return "every conclusive run is VALID, with this change and without it"
    return f"{change} runs are INVALID with this change, and {base} without it"


def _excluded(comparison: documents.Comparison) -> str:
    rises = [max(abs(pair.fall_low), abs(pair.fall_high)) for pair in comparison.pairs]
    return f"in each scenario one of {rates.upper(max(rises) * 100)} percentage points or more is excluded"


def _example(comparison: documents.Comparison) -> str:
    pairs = comparison.pairs
    found = max(pairs, key=lambda pair: (abs(_rise(pair)), pair.second_outcomes.invalid))
    return f"too few runs: {_shares(found)}"


def _headlines(comparison: documents.Comparison) -> Iterator[str]:
    """Yield what each campaign says by itself."""
    for side in comparison.sides:
        if side.headline:
            yield f"{side.label}: {escaping.in_markdown(side.headline)}"
    base, change = comparison.sides
    if base.shown != change.shown:
        shown = [f"{side.label} {', '.join(side.shown) or 'none'}" for side in (base, change)]
        yield f"known hazards shown: {'; '.join(map(escaping.in_markdown, shown))}"


def _table(comparison: documents.Comparison) -> list[str]:
    """Return the table of rates: what differs first, then what failed; the others are counted."""
    ordered = sorted(comparison.pairs, key=_importance)
    shown = ordered[:_ROWS_MAX]
    lines = ["| scenario | base | change | answer |", "|---|---:|---:|---|"]
    for pair in shown:
        cells = (
            pair.scenario,
            _rate(pair.first_outcomes),
            _rate(pair.second_outcomes),
            _word(pair),
        )
        lines.append(f"| {' | '.join(map(escaping.in_markdown, cells))} |")
    if not shown:
        return []
    more = f"; {len(ordered) - len(shown)} more scenarios" if len(ordered) > len(shown) else ""
    note = "INVALID runs of those that are VALID or INVALID, with exact 95 % intervals"
    return [*lines, "", f"<sub>{note}{more}.</sub>"]


def _word(pair: documents.PairComparison) -> str:
    if pair.answer is not Answer.DIFFERENT:
        return str(pair.answer)
    return "worse" if _rise(pair) > 0 else "better"


def _importance(pair: documents.PairComparison) -> tuple[bool, float, str]:
    invalid = pair.first_outcomes.invalid + pair.second_outcomes.invalid
    return pair.answer is not Answer.DIFFERENT, -invalid, pair.scenario


def _failures(comparison: documents.Comparison) -> Iterator[str]:
    """Yield each scenario that is INVALID with the change only, with what its first run found."""
    new = [
        pair
        for pair in comparison.pairs
        if pair.second_outcomes.invalid and not pair.first_outcomes.invalid
    ]
    for pair in new[:_FAILURES_MAX]:
        run = next(
            run
            for run in comparison.runs
            if (run.side, run.scenario, run.verdict) == (pair.second, pair.scenario, "INVALID")
        )
        place = "/".join(run.directory.rsplit("/", 2)[-2:])
        yield f"{pair.scenario}: {run.reason[:_REASON_MAX]} ({place})"
    if len(new) > _FAILURES_MAX:
        yield f"and {len(new) - _FAILURES_MAX} more scenarios"


def _cautions(comparison: documents.Comparison) -> Iterator[str]:
    """Yield what was not the same on both sides, and what has no part in the rates."""
    yield from dict.fromkeys(text for pair in comparison.pairs for text in pair.cautions)
    base, change = ({run.seed for run in comparison.runs if run.side == name} for name in LABELS)
    if not (base <= change or change <= base):  # a time budget leaves some out
        yield "the seeds differ, and with them what each run does"
    if keys := [key for key in _keys(comparison) if not key.startswith(_EXPECTED)]:
        yield f"settings that differ: {_some(keys)}"
    names = [f"{item.scenario} ({item.reason})" for item in comparison.not_compared]
    if names:
        yield f"not compared: {_some(names)}"
    if not any(side.caught or side.missed for side in comparison.sides):
        yield "no side has positive controls, which would show that its runs can find something"
    for side in comparison.sides:
        if side.left_out:
            yield f"{side.label}: {len(side.left_out)} runs cannot be read"
    yield from _times(comparison)


def _keys(comparison: documents.Comparison) -> Iterator[str]:
    yield from dict.fromkeys(item.key for item in comparison.settings)


def _times(comparison: documents.Comparison) -> Iterator[str]:
    times = [(pair, time) for pair in comparison.pairs for time in pair.times]
    for pair, time in [item for item in times if item[1].answer is Answer.DIFFERENT][:_SOME]:
        yield f"{pair.scenario}: {time.name} changes by {comparison_texts.change(time)}"


def _some(texts: Sequence[str]) -> str:
    """Return the first of some texts, and how many more there are."""
    once = list(dict.fromkeys(texts))
    more = f" and {len(once) - _SOME} more" if len(once) > _SOME else ""
    return ", ".join(once[:_SOME]) + more
