"""Compares two sides: settings first, then the verdicts of what can be compared."""

import pathlib
from collections.abc import Iterator, Sequence

from harness import rates
from harness.checks import verdicts
from harness.comparison import documents, rate_tests, run_groups, sides
from harness.comparison.documents import Answer
from harness.comparison.run_groups import Pair
from harness.comparison.sides import LABELS

_NAMED_MAX = 2
"""Controls that one doubt names."""


def compare(
    paths: Sequence[pathlib.Path], *, labels: Sequence[str] = LABELS
) -> documents.Comparison:
    """Compare two runs, campaigns or folders of runs; `labels` name them in all texts.

    Raises UsageError if a path is none of these, has no judged runs, or shares runs with the other.
    """
    both = sides.read_both(paths, labels)
    pairs, not_compared = run_groups.match(*both)
    rated = [(_rate(first.runs), _rate(second.runs)) for first, second in pairs]
    tests = [rate_tests.of_scenario(*item) for item in rated]
    tested = [[pair] for pair in pairs]
    if len(pairs) > 1:
        tests.append(rate_tests.of_all(rated))
        tested.append(pairs)
    answer = rate_tests.decide(tests)
    rows = [_row(*item, labels) for item in zip(tested, tests, strict=True)]
    doubts = list(_doubts(both, {row.scenario for row in rows}, answer)) if pairs else []
    unread = [side.label for side in both if side.document.left_out]
    if doubts or (unread and answer in (Answer.SAME, Answer.BETTER)):
        answer = Answer.UNDECIDED
    said = list(_summary(answer, rows))
    if count := len(not_compared):
        said.append(f"not compared: {verdicts.counted(count, 'group')} of runs")
    if unread:
        said.append(f"runs of {' and '.join(unread)} could not be read")
    said += doubts
    return documents.Comparison(
        answer=answer,
        exit_code=answer.exit_code,
        summary="; ".join(said),
        confidence=rate_tests.CONFIDENCE,
        sides=[side.document for side in both],
        settings=list(_settings(pairs)),
        rows=rows,
        doubts=doubts,
        cautions=list(dict.fromkeys(_cautions(pairs, both))),
        not_compared=not_compared,
    )


def _rate(runs: Sequence[sides.Run]) -> rates.Rate:
    """Return the rate of INVALID among the runs that are VALID or INVALID.

    Thresholds that were not met are no part of it.
    """
    made = [run for run in runs if run.verdict.verdict is not verdicts.Verdict.UNKNOWN]
    return rates.Rate(sum(run.verdict.is_violated for run in made), len(made))


def _row(pairs: Sequence[Pair], test: rate_tests.Test, labels: Sequence[str]) -> documents.Row:
    first, second = (_outcomes(groups) for groups in zip(*pairs, strict=True))
    return documents.Row(
        scenario=pairs[0][0].scenario if len(pairs) == 1 else f"all {len(pairs)} together",
        first=first,
        second=second,
        p_value=test.p_value,
        corrected_p_value=test.corrected,
        answer=test.answer,
        text=rate_tests.text(test, labels),
    )


def _outcomes(groups: Sequence[run_groups.Group]) -> documents.Outcomes:
    runs = [run for group in groups for run in group.runs]
    rate, is_one = _rate(runs), len(groups) == 1
    found = [run for run in runs if run.verdict.is_violated and is_one]
    low, high = rate.interval
    return documents.Outcomes(
        subject=groups[0].subject if is_one else "",
        invalid=rate.failed,
        conclusive=rate.runs,
        unknown=len(runs) - rate.runs,
        low=low,
        high=high,
        finding=found[0].verdict.reason if found else "",
        directory=str(found[0].path) if found else "",
    )


def _doubts(both: Sequence[sides.Side], scenarios: set[str], answer: Answer) -> Iterator[str]:
    """Yield why an answer cannot be relied on, by the positive controls in compared scenarios.

    A side that missed a control might have missed what its subject does wrong, so that its rate is
    too low: that matters only for the side that the answer calls the better one, or for both.
    """

    def compared(names: Sequence[str]) -> list[str]:
        return [name for name in names if name.partition(": ")[0] in scenarios]

    first, second = (side.document for side in both)
    for side in {Answer.WORSE: [first], Answer.BETTER: [second]}.get(answer, [first, second]):
        if missed := compared(side.missed):
            yield f"{side.label} did not catch {_named(missed)}, so that its rate may be too low"
    if first.headline and second.headline:
        for side, other in ((first, second), (second, first)):
            mine, theirs = (compared([*one.caught, *one.missed]) for one in (side, other))
            if more := sorted(set(mine) - set(theirs)):
                yield f"only {side.label} has {_named(more)}"


def _named(names: Sequence[str]) -> str:
    """Return `the control a`, or `the controls a, b and 3 more`."""
    return f"the control{'s' * (len(names) > 1)} {shortened(names, _NAMED_MAX)}"


def shortened(texts: Sequence[str], count: int) -> str:
    more = f" and {len(texts) - count} more" if len(texts) > count else ""
    return ", ".join(texts[:count]) + more


def _cautions(pairs: Sequence[Pair], both: Sequence[sides.Side]) -> Iterator[str]:
    for pair in pairs:
        for group in pair:
            yield from _left_out_of_rates(group)
        if len({run.verdict.judges.get("digest") for group in pair for run in group.runs}) > 1:
            yield (
                "the runs were judged by different checks: flake-hunt check judges them again by "
                "the same ones"
            )
        if len({frozenset(run.plan.boot_id for run in group.runs) for group in pair}) > 1:
            yield "the machine may differ, and with it the speed at which processes race"
        jobs, others = ({run.plan.jobs for run in group.runs} for group in pair)
        if jobs != others:
            yield "--jobs differs, and with it the speed at which processes race"
    first, second = ({run.plan.seed for run in side.runs} for side in both)
    if not (first <= second or second <= first):  # a time budget leaves some out
        yield "the seeds differ, and with them what each run does"


def _left_out_of_rates(group: run_groups.Group) -> Iterator[str]:
    if unknown := len(group.runs) - _rate(group.runs).runs:
        yield (
            f"{group.scenario}: {unknown} of {len(group.runs)} runs of {group.side} are UNKNOWN: "
            "neither VALID nor INVALID"
        )
    missed = [
        text.partition(":")[0] for run in group.runs for text in run.verdict.missed_thresholds
    ]
    if missed:
        names = ", ".join(dict.fromkeys(missed))
        yield f"{group.scenario}: of {group.side}, the rate leaves out what was not met: {names}"


def _settings(pairs: Sequence[Pair]) -> Iterator[documents.SettingDifference]:
    seen: dict[tuple[str, tuple[str, ...], tuple[str, ...]], set[str]] = {}
    for first, second in pairs:
        for difference in run_groups.differences((first, second)):
            seen.setdefault(difference, set()).add(first.scenario)
    for (key, mine, theirs), scenarios in seen.items():
        yield documents.SettingDifference(
            key=key,
            first_values=list(mine),
            second_values=list(theirs),
            scenarios=sorted(scenarios),
        )


def _summary(answer: Answer, rows: Sequence[documents.Row]) -> Iterator[str]:
    for row in reversed(rows):
        if row.answer.is_different:
            yield f"{row.scenario} ({row.subject}): {row.text}" if row.subject else row.text
    if not rows:
        yield "cannot tell: no runs can be compared"
    elif answer is Answer.SAME:
        size = f"{documents.LARGE * 100:.0f} percentage points or more"
        more = f"; in each, one of {size} is excluded" if len(rows) > 1 else ""
        yield f"{rows[-1].text}{more}"
    elif answer is Answer.UNDECIDED:
        yield _undecided(rows)


def _undecided(rows: Sequence[documents.Row]) -> str:
    undecided = [row for row in rows if row.answer is Answer.UNDECIDED]
    if not undecided:
        return "cannot tell"
    found, count = undecided[0], sum(row is not rows[-1] for row in undecided)
    if found is rows[-1]:
        return found.text
    return f"cannot tell in {count} of {len(rows) - 1} scenarios, such as {found.scenario}: {found.text}"
