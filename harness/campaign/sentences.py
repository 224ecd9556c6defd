"""The one sentence of a campaign: what it says of the tested program, in figures that are true.

A rate without any failure has its exact one-sided bound, any other one its exact interval; it has
none if the failure itself ended the campaign, which would make it look higher.
"""

from collections.abc import Iterator, Sequence

from harness import rates
from harness.checks import verdicts
from harness.history import results, subject_names
from harness.history.purposes import Purpose

_REASON_MAX = 200
"""Characters of the reason of a run that stands in the sentence; its own line has all."""


def of_table(table: Sequence[results.Row], title: str = "", *, ends_at_first: bool = False) -> str:
    """Return the figures of a campaign, without intervals if it `ends_at_first` failure."""
    tested = results.of_purpose(table, Purpose.SUBJECT)
    found = _found(tested, ends_at_first=ends_at_first)
    is_about_one = bool(tested or title) or not table  # and not of hazards or controls alone
    first = [f"{title or _subjects(tested)}: {found}"] if is_about_one else []
    return "; ".join([*first, *_others(table)])


def _subjects(tested: Sequence[results.Row]) -> str:
    """Return the tested subjects; only ours without defects is called correct."""
    names = dict.fromkeys(row.subject for row in tested)
    if all(map(subject_names.is_correct, names)):
        return "the correct subject" if names else "no subject"
    return ", ".join(names)


def _found(tested: Sequence[results.Row], *, ends_at_first: bool) -> str:
    """Runs that did not examine exclusivity count only in a rate of other violations."""
    every = [run for row in tested for run in row.runs]
    runs = [run for run in every if run.is_conclusive]
    bad = [run for run in runs if run.is_violated]
    examined = [run for run in runs if run.is_about_exclusivity]
    if not every:
        return "no run was made"
    if not runs:
        why = every[0].reason or every[0].error or "the first one has no reason"
        return f"no run was conclusive: {why:.{_REASON_MAX}}"
    if not (bad or examined):
        return "no run has examined double allocations"
    if not bad:
        under = rates.upper(rates.Rate(0, len(examined)).most * 100)
        made = verdicts.counted(len(examined), "run")
        return f"no double allocation in {made} (95 %: under {under} % of runs)"
    has_doubles = any(run.double_allocations for run in bad)
    if has_doubles:
        runs = [run for run in runs if run.is_about_exclusivity or run.is_violated]
    rate = rates.Rate(len(bad), len(runs))
    share = f"in {len(bad)} of {verdicts.counted(len(runs), 'run')}"
    interval = "" if ends_at_first else f" (95 %: {rates.span(*rate.interval)} % of runs)"
    head = "no double allocation, but " * (examined == runs and not has_doubles)
    first = min(bad, key=lambda run: (not run.double_allocations, run.number))
    return f"{head}{_violations(bad)} {share}{interval}, first in {first.scenario}"


def _violations(bad: Sequence[results.RunResult]) -> str:
    doubles = sum(run.double_allocations for run in bad)
    stuck = sum(run.stuck for run in bad)
    others = sum(run.others for run in bad)
    return _counted(
        (doubles, "double allocation"), (stuck, "stuck object"), (others, "other violation")
    )


def _counted(*counts: tuple[int, str]) -> str:
    """Return `1 stuck object`, `1 stuck object and 2 other violations`, …; zeros are left out."""
    parts = [verdicts.counted(count, noun) for count, noun in counts if count]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def _others(table: Sequence[results.Row]) -> Iterator[str]:
    yield from _unexplained(table)
    yield from _asked(results.of_purpose(table, Purpose.ASKED))
    for purpose, words in (
        (Purpose.HAZARD, "known hazards shown"),
        (Purpose.REMEDY, "remedies VALID"),
        (Purpose.CONTROL, "controls caught"),
    ):
        if group := results.of_purpose(table, purpose):
            yield f"{sum(row.is_as_expected for row in group)} of {len(group)} {words}"
    tested = [run for row in results.of_purpose(table, Purpose.SUBJECT) for run in row.runs]
    if held := sum(run.held_threads for run in tested):
        yield f"threads held at random in {held} of {verdicts.counted(len(tested), 'run')}"
    if names := {name for run in tested for name in run.unexamined}:
        yield f"not examined in every run: {', '.join(sorted(names))}"
    if unknown := sum(run.verdict is verdicts.Verdict.UNKNOWN for run in tested):
        yield f"{verdicts.counted(unknown, 'run')} inconclusive"
    if missing := sum(row.missing for row in table):
        yield f"{verdicts.counted(missing, 'planned run')} without a result"


def _unexplained(table: Sequence[results.Row]) -> Iterator[str]:
    for row in table:
        if row.has_regression:
            bad = [run for run in row.runs if run.is_regression]
            more = _counted(
                (sum(run.by_one_scheduler for run in bad), "double allocation"),
                (sum(run.stuck for run in bad), "stuck object"),
                (sum(run.of_other_kinds - run.stuck for run in bad), "other violation"),
            )
            yield f"{row.scenario} shows more than {row.hypothesis}: {more}"


def _asked(asked: Sequence[results.Row]) -> Iterator[str]:
    shown = {row.hypothesis for row in asked if row.caught}
    answered = {row.hypothesis for row in asked if row.verdict is not verdicts.Verdict.UNKNOWN}
    names = list(dict.fromkeys(row.hypothesis for row in asked))
    groups = (
        ("shown", [name for name in names if name in shown]),
        ("not shown", [name for name in names if name in answered - shown]),
        ("without an answer", [name for name in names if name not in answered | shown]),
    )
    for words, group in groups:
        if group:
            yield f"{verdicts.counted(len(group), 'known hazard')} {words} ({', '.join(group)})"
