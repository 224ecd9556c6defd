"""Rates and figures of one scenario with one subject, night by night."""

import collections
import dataclasses
import operator
import statistics
from collections.abc import Callable, Sequence

import msgspec

from harness.campaign.purposes import Purpose
from harness.statistics import rates

ERROR = "ERROR"
"""The verdict of a run that could not be executed, and of a night with such runs."""


class NightRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run, or one attempt of a control or hazard."""

    scenario: str
    subject: str
    purpose: Purpose
    verdict: str
    """`VALID`, `INVALID`, `UNKNOWN` or `ERROR`."""
    seconds: float
    violations: int = 0
    load: str = ""
    """Digest of the load, and of the number of runs at once; empty if the directory is gone.

    Runs of another load are not compared.
    """
    allocations_per_s: float | None = None
    """None, as all figures below: the run has none, or its directory is gone."""
    claim_p50_ms: float | None = None
    claim_p99_ms: float | None = None
    pod_p50_ms: float | None = None
    pod_p99_ms: float | None = None
    detected_s: float | None = None
    """Seconds of this and the earlier attempts until a control was caught or a hazard shown."""


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign."""

    identity: str
    """Identifies the campaign, whatever its results: start, seed and cluster."""
    digest: str
    """Digest of the results; another one for the same identity: they were completed or judged
    again."""
    started: str
    """Time in UTC, `2026-01-31T23:59:59Z`."""
    cluster: str
    seed: int
    verdict: str
    exit_code: int
    summary: str
    commit: str
    """Commit of Flake Hunt; empty if it is not known."""
    versions: dict[str, str]
    """Versions of Flake Hunt, its libraries and the tested schedulers."""
    runs: list[NightRun]


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Key:
    """A scenario with a subject on a cluster; only what has the same key is compared."""

    purpose_order: int
    scenario: str
    subject: str
    cluster: str

    @property
    def purpose(self) -> Purpose:
        """The purpose of the runs."""
        return list(Purpose)[self.purpose_order]

    def __str__(self) -> str:
        """Return `pod-churn, correct`."""
        return f"{self.scenario}, {self.subject}"


@dataclasses.dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a run that nights are compared by."""

    name: str
    unit: str
    of: Callable[[NightRun], float | None]
    is_better_high: bool = False
    is_of_detection: bool = False
    """True if runs have it that must find something; the others have all other measures."""


RATE = "rate of INVALID"
"""Name of the only measure that is a rate."""
_of = operator.attrgetter
MEASURES = (
    Measure("throughput", "allocations/s", _of("allocations_per_s"), is_better_high=True),
    Measure("claim to allocation, p50", "ms", _of("claim_p50_ms")),
    Measure("claim to allocation, p99", "ms", _of("claim_p99_ms")),
    Measure("pod to Running, p50", "ms", _of("pod_p50_ms")),
    Measure("pod to Running, p99", "ms", _of("pod_p99_ms")),
    Measure("time to detect", "s", _of("detected_s"), is_of_detection=True),
)


def order(measure: str) -> int:
    """Return the place of a measure's name among all: the rate is the first one."""
    return [RATE, *(item.name for item in MEASURES)].index(measure)


@dataclasses.dataclass(frozen=True, slots=True)
class RatePoint:
    """The verdicts of one night."""

    night: int
    """Its place among the nights, from 0."""
    rate: rates.Rate
    unknown: int
    """Runs that are neither VALID nor INVALID, or could not be executed."""
    load: str
    """Digests of the loads of the night; empty if they are not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class FigurePoint:
    """A figure in the runs of one night."""

    night: int
    values: tuple[float, ...]
    median: float
    load: str


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """All nights of one key; nights without such runs are left out."""

    key: Key
    rates: Sequence[RatePoint]
    figures: dict[str, list[FigurePoint]]
    """Values by the names of the measures; measures without any value are left out."""


def of_nights(nights: Sequence[Night]) -> list[Series]:
    """Return the series of all keys, in the order of purposes, scenarios and subjects."""
    runs: dict[tuple[Purpose, str, str, str], dict[int, list[NightRun]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    for number, night in enumerate(nights):
        for run in night.runs:
            runs[run.purpose, run.scenario, run.subject, night.cluster][number].append(run)
    order = list(Purpose)
    found = ((Key(order.index(purpose), *names), part) for (purpose, *names), part in runs.items())
    return sorted((_series(key, part) for key, part in found), key=lambda series: series.key)


def _series(key: Key, by_night: dict[int, list[NightRun]]) -> Series:
    figures: dict[str, list[FigurePoint]] = {}
    loads = {night: _load(runs) for night, runs in by_night.items()}
    for measure in MEASURES:
        if measure.is_of_detection != key.purpose.must_fail:
            continue
        points = []
        for night, runs in by_night.items():
            values = tuple(value for run in runs if (value := measure.of(run)) is not None)
            if values:
                points.append(FigurePoint(night, values, statistics.median(values), loads[night]))
        if points:
            figures[measure.name] = points
    verdicts = [_rate_point(night, runs, loads[night]) for night, runs in by_night.items()]
    return Series(key, verdicts, figures)


def _load(runs: Sequence[NightRun]) -> str:
    return " ".join(sorted({run.load for run in runs if run.load}))


def _rate_point(night: int, runs: Sequence[NightRun], load: str) -> RatePoint:
    found = [run.verdict for run in runs]
    invalid = found.count("INVALID")
    rate = rates.Rate(invalid, invalid + found.count("VALID"))
    return RatePoint(night, rate, len(runs) - rate.runs, load)
