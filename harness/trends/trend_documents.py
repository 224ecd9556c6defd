"""The trend of all nights as one document: what `flake-hunt trends page --output json` prints."""

from collections.abc import Sequence

import msgspec

from harness.campaign.purposes import Purpose
from harness.trends import changes, night_series
from harness.trends.changes import Change
from harness.trends.night_records import Night
from harness.trends.night_series import Series

SCHEMA_VERSION = 1
WORSE_EXIT_CODE = 10
"""Exit code of `--fail-when-worse` if the newest night is worse."""
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
    """Controls and hazards of which no attempt found what it must find."""
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
    p_value: float
    """After Holm's correction for all tests of the night."""
    text: str


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The whole document."""

    schema: int = SCHEMA_VERSION
    is_worse: bool
    """True if the newest night is worse than those before it."""
    summary: str
    """About the newest night, in a sentence."""
    false_alarm: float
    """Probability of any change being found in a night without one."""
    nights: list[NightRow]
    """The oldest first."""
    series: list[SeriesRow]
    changes: list[ChangeRow]
    """In the order in which they were found."""


def document(
    nights: Sequence[Night], all_series: Sequence[Series], found: Sequence[Change]
) -> Trend:
    """Return the document; `found` are the changes of these series."""
    newest = [change for change in found if change.found == len(nights) - 1]
    return Trend(
        is_worse=any(change.is_worse for change in newest),
        summary=_summary(nights, newest),
        false_alarm=changes.LEVEL,
        nights=[_night(night) for night in nights],
        series=[_series(series, nights) for series in all_series],
        changes=[_change(change, nights) for change in found],
    )


def _night(night: Night) -> NightRow:
    tested = [run for run in night.runs if not run.purpose.must_fail]
    wanted = {(run.scenario, run.subject) for run in night.runs if run.purpose.must_fail}
    detected = {(run.scenario, run.subject) for run in night.runs if run.detected_s is not None}
    return NightRow(
        started=night.started,
        cluster=night.cluster,
        verdict=night.verdict,
        runs=len(night.runs),
        invalid=sum(run.verdict == "INVALID" for run in tested),
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


def _summary(nights: Sequence[Night], newest: Sequence[Change]) -> str:
    """Return a sentence about the newest night, which names the first change for the worse."""
    if not nights:
        return "There are no nights yet."
    night = nights[-1]
    about = f"The night of {night.started} ({night.verdict})"
    worse = [change for change in newest if change.is_worse]
    if worse:
        return f"{about} got worse: {worse[0].text}{_more(worse[1:])}."
    if len(nights) == 1:
        return f"{about} is the first one: there is nothing to compare it with."
    better = f"; better in {len(newest)} figures" if newest else ""
    return f"{about} is not found to be worse than the nights before it{better}."


def _more(worse: Sequence[Change]) -> str:
    """Return how many changes there are, and some of their measures."""
    if not worse:
        return ""
    names = sorted({change.measure for change in worse}, key=night_series.order)
    shown = "; ".join(names[:_NAMED_MAX]) + "; …" * (len(names) > _NAMED_MAX)
    return f"; and {len(worse)} more for the worse ({shown})"
