"""The trend of all nights as one document: what `flake-hunt trends page --output json` prints."""

from collections.abc import Iterator, Sequence

import msgspec

from harness.campaign.purposes import Purpose
from harness.comparison.trends import changes, night_series
from harness.comparison.trends.changes import Change
from harness.comparison.trends.night_series import Night, Series
from harness.report.escaping import in_markdown

SCHEMA_VERSION = 1
WORSE_EXIT_CODE = 10
"""Exit code of `--fail-when-worse` if the newest night is worse."""
_INVALID = "INVALID"
_NAMED_MAX = 3
"""Measures that the summary names beside the first change."""


class NightRow(msgspec.Struct, frozen=True, kw_only=True):
    """One night."""

    started: str
    cluster: str
    verdict: str
    runs: int
    invalid: int
    """INVALID runs of tested subjects and remedies; controls and hazards must be INVALID."""
    missed: int
    """Controls and hazards that no attempt has shown."""
    commit: str
    seed: int
    summary: str


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A figure in the newest night of a scenario and subject."""

    name: str
    unit: str
    median: float


class SeriesRow(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario with one subject on one cluster: its newest night, and all before."""

    scenario: str
    subject: str
    purpose: Purpose
    cluster: str
    nights: int
    started: str
    """Start of the newest night that has it."""
    invalid: int
    conclusive: int
    low: float
    high: float
    """Exact 95 % interval of the rate of INVALID in that night."""
    unknown: int
    all_invalid: int
    all_conclusive: int
    figures: list[Spread]


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rate or figure that changed."""

    scenario: str
    subject: str
    cluster: str
    measure: str
    unit: str
    started: str
    """Start of the first night that is different."""
    found: str
    """Start of the night after which it was found."""
    commit: str
    """Commit of Flake Hunt in the first night that is different."""
    is_worse: bool
    before: float
    after: float
    p_value: float | None
    """The p-value after Holm's correction for all tests of the night; None: no test was needed."""
    text: str


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The whole document."""

    schema: int = SCHEMA_VERSION
    is_worse: bool
    """True if the newest night is worse than those before it."""
    summary: str
    """A sentence about the newest night."""
    false_alarm: float
    """Greatest probability of any change being found by a test in a night without one."""
    turned: list[str] = []
    """Subjects that are INVALID in the newest night and were not in the one before it, as clauses.

    Each makes the newest night worse, whatever the tests find.
    """
    tested: int = 0
    """Rates and figures of the newest night that were compared with nights before it."""
    too_few: int = 0
    """Measures with too few nights before it; nothing is said about them."""
    nights: list[NightRow]
    """The oldest first."""
    series: list[SeriesRow]
    changes: list[ChangeRow]
    """Ordered as they were found."""


def document(
    nights: Sequence[Night], all_series: Sequence[Series], examined: changes.Examined
) -> Trend:
    """Return the document; `examined` are these series."""
    newest = [change for change in examined.changes if change.found == len(nights) - 1]
    turned = list(_turned(nights, all_series))
    return Trend(
        is_worse=any(change.is_worse for change in newest) or bool(turned),
        summary=_summary(nights, newest, turned, examined),
        false_alarm=changes.LEVEL,
        nights=[_night(night) for night in nights],
        series=[_series(series, nights) for series in all_series],
        changes=[_change(change, nights) for change in examined.changes],
        turned=turned,
        tested=examined.tested,
        too_few=examined.too_few,
    )


def _turned(nights: Sequence[Night], all_series: Sequence[Series]) -> Iterator[str]:
    """Yield what is INVALID in the newest night and was not in the one before it."""
    named = False
    for series in all_series:
        *before, last = series.rates
        if series.key.purpose.must_fail or last.night != len(nights) - 1 or not last.rate.failed:
            continue
        if before and not before[-1].rate.failed:
            named = True
            yield (
                f"{series.key}: INVALID in {last.rate.failed} of {last.rate.runs} runs, and in none "
                f"of {before[-1].rate.runs} the night before"
            )
    if not named and len(nights) > 1 and nights[-1].verdict == _INVALID:
        earlier = [night for night in nights[:-1] if night.cluster == nights[-1].cluster]
        if earlier and earlier[-1].verdict != _INVALID:
            yield f"the night is INVALID, and the one before it was {earlier[-1].verdict}"


def _night(night: Night) -> NightRow:
    tested = [run for run in night.runs if not run.purpose.must_fail]
    wanted = {(run.scenario, run.subject) for run in night.runs if run.purpose.must_fail}
    detected = {(run.scenario, run.subject) for run in night.runs if run.detected_s is not None}
    return NightRow(
        started=night.started,
        cluster=night.cluster,
        verdict=night.verdict,
        runs=len(night.runs),
        invalid=sum(run.verdict == _INVALID for run in tested),
        missed=len(wanted - detected),
        commit=night.commit,
        seed=night.seed,
        summary=night.summary,
    )


def _series(series: Series, nights: Sequence[Night]) -> SeriesRow:
    newest = series.rates[-1]
    low, high = newest.rate.interval
    units = {measure.name: measure.unit for measure in night_series.MEASURES}
    return SeriesRow(
        scenario=series.key.scenario,
        subject=series.key.subject,
        purpose=series.key.purpose,
        cluster=series.key.cluster,
        nights=len(series.rates),
        started=nights[newest.night].started,
        invalid=newest.rate.failed,
        conclusive=newest.rate.runs,
        low=low,
        high=high,
        unknown=newest.unknown,
        all_invalid=sum(point.rate.failed for point in series.rates),
        all_conclusive=sum(point.rate.runs for point in series.rates),
        figures=[
            Spread(name=name, unit=units[name], median=points[-1].median)
            for name, points in series.figures.items()
            if points[-1].night == newest.night
        ],
    )


def _change(change: Change, nights: Sequence[Night]) -> ChangeRow:
    return ChangeRow(
        scenario=change.key.scenario,
        subject=change.key.subject,
        cluster=change.key.cluster,
        measure=change.measure,
        unit=change.unit,
        started=nights[change.first].started,
        found=nights[change.found].started,
        commit=nights[change.first].commit,
        is_worse=change.is_worse,
        before=change.before,
        after=change.after,
        p_value=change.p_value,
        text=change.text,
    )


def _summary(
    nights: Sequence[Night],
    newest: Sequence[Change],
    turned: Sequence[str],
    examined: changes.Examined,
) -> str:
    """Return a sentence about the newest night, which names the first change for the worse."""
    if not nights:
        return "There are no nights yet."
    night = nights[-1]
    about = f"The night of {night.started} ({night.verdict})"
    worse = [change for change in newest if change.is_worse]
    if worse:
        return f"{about} got worse: {worse[0].text}{_more(worse[1:])}{_too_few(examined)}."
    if turned:
        more = f"; and {len(turned) - 1} more" * (len(turned) > 1)
        return f"{about} got worse: {turned[0]}{more}{_too_few(examined)}."
    if len(nights) == 1:
        return f"{about} is the first one: there is nothing to compare it with."
    better = f"; better in {len(newest)} figures" if newest else ""
    if not examined.tested:
        return f"{about} cannot be compared yet{better}{_too_few(examined)}."
    return (
        f"{about} is not found to be worse than the nights before it{better}{_too_few(examined)}."
    )


def _too_few(examined: changes.Examined) -> str:
    """Return how many rates and figures have too few nights; empty if none has."""
    if not examined.too_few:
        return ""
    whole = examined.too_few + examined.tested
    return (
        f"; {examined.too_few} of {whole} rates and figures have too few nights of the same load: a "
        f"test needs {changes.NIGHTS_MIN} before the newest"
    )


def _more(worse: Sequence[Change]) -> str:
    """Return how many changes there are, and some of their measures."""
    if not worse:
        return ""
    names = sorted({change.measure for change in worse}, key=night_series.order)
    shown = "; ".join(names[:_NAMED_MAX]) + "; …" * (len(names) > _NAMED_MAX)
    return f"; and {len(worse)} more for the worse ({shown})"


CHANGES_MAX = 10
"""Changes that are listed; the page has all."""
NIGHTS_SHOWN = 14


def markdown(trend: Trend) -> str:
    """Return the summary; nothing in it is obeyed as Markdown."""
    return "\n".join(_lines(trend)) + "\n"


def _lines(trend: Trend) -> Iterator[str]:
    yield f"### {'▼ ' if trend.is_worse else ''}{in_markdown(trend.summary)}"
    yield ""
    if not trend.nights:
        return
    newest = trend.nights[-1].started
    found = [change for change in trend.changes if change.found == newest]
    for change in found[:CHANGES_MAX]:
        commit = f", commit {change.commit}" if change.commit else ""
        since = f" (since {change.started}{commit})"
        yield f"- {in_markdown(change.text + since)}"
    if len(found) > CHANGES_MAX:
        yield f"- and {len(found) - CHANGES_MAX} more"
    for text in trend.turned[:CHANGES_MAX]:
        yield f"- {in_markdown(text)}"
    if found or trend.turned:
        yield ""
    last = trend.nights[-NIGHTS_SHOWN:]
    yield f"The last {len(last)} nights, oldest first: " + " ".join(
        in_markdown(night.verdict) for night in last
    )
    yield ""
    yield (
        "Nights are compared, not their runs. A night without a change has a false alarm with a "
        f"probability of at most {trend.false_alarm * 100:g} %, if nights are independent and their "
        "medians are spread log-normally. A verdict that turns INVALID is told without a test."
    )
