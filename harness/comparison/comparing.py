"""Compares every two sides: settings first, then verdicts and times of what can be compared."""

import dataclasses
import itertools
import pathlib
import string
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from harness.comparison import (
    comparison_texts,
    controls,
    documents,
    fixes,
    rate_comparisons,
    run_groups,
    setting_differences,
    sides,
    time_comparisons,
)
from harness.comparison.documents import Answer
from harness.seeds import Seeds
from harness.statistics import exact_tests, rates

_LEVEL = 1 - rates.CONFIDENCE


class Test(Protocol):
    """One test, whose answer needs the p-values of all others."""

    p_value: float
    corrected: float | None
    answer: Answer

    @property
    def least_p_value(self) -> float:
        """The smallest p-value that its number of runs can have."""

    def is_close(self, *, confidence: float) -> bool:
        """Return whether a large difference is excluded, where there is such a size."""


def decide(tests: Iterable[Test]) -> None:
    """Set the answers of all tests.

    Tests that could not have found anything are left out first, which depends on the numbers of
    runs only. The intervals that exclude a large difference hold together.
    """
    tests = list(tests)
    confidence = 1 - _LEVEL / max(len(tests), 1)
    possible = [test for test in tests if test.least_p_value <= _LEVEL]
    corrected = exact_tests.holm([test.p_value for test in possible])
    for test, value in zip(possible, corrected, strict=True):
        test.corrected = value
        if value <= _LEVEL:
            test.answer = Answer.DIFFERENT
        elif test.least_p_value * len(possible) <= _LEVEL and test.is_close(confidence=confidence):
            test.answer = Answer.SAME


@dataclasses.dataclass(slots=True)
class _Pair:
    """The runs of one scenario on two sides, with their tests."""

    first: run_groups.Group
    second: run_groups.Group
    rate: rate_comparisons.Test
    times: list[time_comparisons.Test]
    times_left_out: str


@dataclasses.dataclass(slots=True)
class _Whole:
    """All pairs of two sides; their common test if there are several."""

    labels: tuple[str, str]
    pairs: list[_Pair]
    rate: rate_comparisons.Test | None


def compare(
    paths: Sequence[pathlib.Path],
    *,
    seed: int,
    same_machine: bool = False,
    labels: Sequence[str] = string.ascii_uppercase,
) -> documents.Comparison:
    """Compare runs, campaigns or folders of runs; `seed` is that of random resamples.

    `same_machine`: all runs are of one machine, although it may have been restarted. `labels` name
    the sides in all texts. Raises UsageError if a path is none of these, has no judged runs, or
    shares runs with another.
    """
    found = sides.read_all(paths, labels)
    groups = [run_groups.of_side(side) for side in found]
    wholes, not_compared = [], []
    for first, second in itertools.combinations(groups, 2):
        matching = run_groups.match(first, second)
        not_compared += matching.not_compared
        pairs = [_pair(*pair, Seeds(seed), same_machine=same_machine) for pair in matching.pairs]
        wholes.append(_whole((first[0].side, second[0].side), pairs))
    answer = _decide(wholes)
    unread = [side.label for side in found if side.left_out]
    documented = [side.document() for side in found]
    fixed = [_fix(whole, unread, documented) for whole in wholes if whole.pairs]
    doubts = list(dict.fromkeys(doubt for _, found in fixed for doubt in found))
    if doubts or (unread and answer is Answer.SAME):
        answer = Answer.UNDECIDED
    said = [_summary(answer, wholes, not_compared), *_unread(unread), *doubts]
    return documents.Comparison(
        answer=answer,
        exit_code=answer.exit_code,
        summary="; ".join(said),
        confidence=rate_comparisons.CONFIDENCE,
        seed=seed,
        sides=documented,
        settings=list(_settings(wholes)),
        overall=[_overall(whole) for whole in wholes if whole.rate is not None],
        pairs=[_document(pair) for whole in wholes for pair in whole.pairs],
        fixes=[fix for fix, _ in fixed],
        doubts=doubts,
        not_compared=not_compared,
        runs=[_run(side, run) for side in found for run in side.runs],
    )


def _pair(
    first: run_groups.Group, second: run_groups.Group, seeds: Seeds, *, same_machine: bool
) -> _Pair:
    both = rate_comparisons.rate_of(first), rate_comparisons.rate_of(second)
    why_not = time_comparisons.why_not(first, second, same_machine=same_machine)
    times = [] if why_not else list(time_comparisons.tests(first, second, seeds=seeds))
    return _Pair(first, second, rate_comparisons.one(*both), times, why_not)


def _whole(labels: tuple[str, str], pairs: list[_Pair]) -> _Whole:
    if len(pairs) < 2:
        return _Whole(labels, pairs, None)
    both = [
        (rate_comparisons.rate_of(pair.first), rate_comparisons.rate_of(pair.second))
        for pair in pairs
    ]
    return _Whole(labels, pairs, rate_comparisons.many(both))


def _decide(wholes: Iterable[_Whole]) -> Answer:
    """Set the answers of all tests and return that of the whole."""
    of_rates, times = [], []
    for whole in wholes:
        of_rates += [pair.rate for pair in whole.pairs]
        of_rates += [whole.rate] if whole.rate is not None else []
        times += [test for pair in whole.pairs for test in pair.times]
    decide(of_rates)
    decide(times)
    return rate_comparisons.overall(of_rates)


def _document(pair: _Pair) -> documents.PairComparison:
    first, second = pair.first, pair.second
    both = rate_comparisons.rate_of(first), rate_comparisons.rate_of(second)
    fall = rates.fall(*both)
    return documents.PairComparison(
        first=first.side,
        second=second.side,
        scenario=first.scenario,
        first_outcomes=rate_comparisons.outcomes(first),
        second_outcomes=rate_comparisons.outcomes(second),
        p_value=pair.rate.p_value,
        corrected_p_value=pair.rate.corrected,
        answer=pair.rate.answer,
        text=rate_comparisons.text(pair.rate, *both, (first.side, second.side)),
        fall_low=fall[0],
        fall_high=fall[1],
        times=[test.document() for test in pair.times],
        times_left_out=pair.times_left_out,
        cautions=list(_cautions(pair)),
    )


def _fix(
    whole: _Whole, unread: Sequence[str], documented: Sequence[documents.Side]
) -> tuple[documents.Fix, list[str]]:
    """Return whether the second side is a fix, and why that answer is in doubt by the controls.

    `unread` sides have runs that cannot be read.
    """
    compared = [
        fixes.Compared(
            pair.first.scenario,
            rate_comparisons.rate_of(pair.first),
            rate_comparisons.rate_of(pair.second),
            pair.rate.answer,
            unknown=sum(
                len(group.runs) - rate_comparisons.rate_of(group).runs
                for group in (pair.first, pair.second)
            ),
        )
        for pair in whole.pairs
    ]
    overall = None
    if whole.rate is not None and whole.rate.answer is Answer.DIFFERENT:
        overall = _is_second_worse(whole)
    unread = [label for label in unread if label in whole.labels]
    fix = fixes.fix(whole.labels, compared, is_worse_overall=overall, unread=unread)
    first, second = (side for side in documented if side.label in whole.labels)
    doubts = list(controls.doubts(first, second, {one.scenario for one in compared}, fix.answer))
    return fixes.doubted(fix, doubts), doubts


def _cautions(pair: _Pair) -> Iterator[str]:
    groups = (pair.first, pair.second)
    for group in groups:
        unknown = len(group.runs) - rate_comparisons.rate_of(group).runs
        if unknown:
            yield (
                f"{unknown} of {len(group.runs)} runs of {group.side} are UNKNOWN: neither VALID "
                "nor INVALID"
            )
        if missed := [text for run in group.runs for text in run.verdict.missed_thresholds]:
            names = ", ".join(dict.fromkeys(text.partition(":")[0] for text in missed))
            yield f"of {group.side}, the rate leaves out what was not met: {names}"
    if len({run.verdict.judges.get("digest") for group in groups for run in group.runs}) > 1:
        yield (
            "the runs were judged by different checks: flake-hunt check judges them again by the "
            "same ones"
        )
    if len({frozenset(run.plan.boot_id for run in group.runs) for group in groups}) > 1:
        yield "the machine may differ, and with it the speed at which processes race"
    if run_groups.jobs(pair.first) != run_groups.jobs(pair.second):
        yield "--jobs differs, and with it the speed at which processes race"


def _overall(whole: _Whole) -> documents.OverallComparison:
    test = whole.rate
    if test is None:
        raise ValueError("expected several pairs")
    return documents.OverallComparison(
        first=whole.labels[0],
        second=whole.labels[1],
        pairs=len(whole.pairs),
        p_value=test.p_value,
        corrected_p_value=test.corrected,
        answer=test.answer,
        text=_overall_text(test, whole),
    )


def _overall_text(test: rate_comparisons.Test, whole: _Whole) -> str:
    where = f"over {len(whole.pairs)} scenarios and subjects"
    if test.answer is Answer.DIFFERENT:
        worse = whole.labels[1] if _is_second_worse(whole) else whole.labels[0]
        return f"{worse} is worse {where}"
    if test.answer is Answer.SAME:
        return f"no difference found {where}"
    return f"cannot tell {where}: too few runs in one of them, or more"


def _is_second_worse(whole: _Whole) -> bool:
    """Return whether the first side has fewer INVALID runs than it would have by equal rates."""
    excess = 0.0
    for pair in whole.pairs:
        first, second = map(rate_comparisons.rate_of, (pair.first, pair.second))
        runs = first.runs + second.runs
        if runs:
            excess += first.failed - (first.failed + second.failed) * first.runs / runs
    return excess < 0


def _settings(wholes: Iterable[_Whole]) -> Iterator[documents.SettingDifference]:
    """Yield each difference once, with the scenarios in which it is."""
    for whole in wholes:
        seen: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for pair in whole.pairs:
            for key, first, second in setting_differences.between(
                pair.first.runs, pair.second.runs
            ):
                seen.setdefault((key, tuple(first), tuple(second)), []).append(pair.first.scenario)
        for (key, of_first, of_second), scenarios in seen.items():
            yield documents.SettingDifference(
                first=whole.labels[0],
                second=whole.labels[1],
                key=key,
                first_values=list(of_first),
                second_values=list(of_second),
                scenarios=sorted(set(scenarios)),
            )


def _summary(
    answer: Answer, wholes: Sequence[_Whole], not_compared: Sequence[documents.NotCompared]
) -> str:
    """Return one line; it names the differences, and what could not be compared."""
    pairs = [pair for whole in wholes for pair in whole.pairs]
    parts = list(_different(wholes))
    if answer is Answer.SAME:
        parts.append(_same(wholes))
    elif not pairs:
        parts.append("cannot tell: no runs can be compared")
    elif answer is Answer.UNDECIDED:
        parts.append(_undecided(wholes))
    if not_compared:
        parts.append(f"not compared: {_counted(len(not_compared), 'group')} of runs")
    return "; ".join(parts)


def _undecided(wholes: Sequence[_Whole]) -> str:
    """Return in how many comparisons there were too few runs, and what the first of them says."""
    every = [pair for whole in wholes for pair in whole.pairs]
    open_pairs = [pair for pair in every if pair.rate.answer is Answer.UNDECIDED]
    if not open_pairs:
        return "cannot tell"
    first = _document(open_pairs[0])
    if len(every) == 1:
        return first.text
    where = f"{len(open_pairs)} of {len(every)} scenarios and subjects"
    return f"cannot tell in {where}, such as {first.scenario}: {first.text}"


def _unread(labels: Sequence[str]) -> list[str]:
    """Return that sides have runs that could not be read, which could have any verdict."""
    return [f"runs of {' and '.join(labels)} could not be read"] if labels else []


def _same(wholes: Sequence[_Whole]) -> str:
    """Return between whom no difference was found, in one clause."""
    found = [
        f"{' and '.join(whole.labels)} over {_counted(len(whole.pairs), 'scenario or subject')}"
        for whole in wholes
        if whole.rate is not None and whole.rate.answer is Answer.SAME
    ]
    if found:
        size = f"{documents.LARGE * 100:.0f} percentage points or more"
        return f"no difference found between {', '.join(found)}; in each, one of {size} is excluded"
    [first, *more] = [_document(pair).text for pair in _pairs(wholes, Answer.SAME)]
    return first + f", and in {_counted(len(more), 'other comparison')}" * bool(more)


def _pairs(wholes: Iterable[_Whole], answer: Answer) -> Iterator[_Pair]:
    yield from (pair for whole in wholes for pair in whole.pairs if pair.rate.answer is answer)


def _different(wholes: Iterable[_Whole]) -> Iterator[str]:
    for whole in wholes:
        if whole.rate is not None and whole.rate.answer is Answer.DIFFERENT:
            yield _overall_text(whole.rate, whole)
        for pair in _pairs([whole], Answer.DIFFERENT):
            document = _document(pair)
            about = comparison_texts.subjects(document)
            yield f"{pair.first.scenario} ({about}): {document.text}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _run(side: sides.Side, run: sides.Run) -> documents.ComparedRun:
    return documents.ComparedRun(
        side=side.label,
        scenario=run.plan.scenario,
        subject=run.plan.subject_name,
        verdict=run.verdict.verdict,
        violations=run.verdict.figures.violations,
        allocations_per_s=run.verdict.figures.allocations_per_s,
        directory=str(run.path),
        seed=run.plan.seed,
        reason=run.verdict.reason,
    )
