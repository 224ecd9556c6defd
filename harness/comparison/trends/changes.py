"""Nights from which on something is worse, or better: nights are compared, never their runs.

Machines differ from night to night, so that the runs of one night are not independent of each
other: each night counts as one value, the median of its runs or the share of them that is INVALID.
After each night two tests are made of each rate and figure. This night is compared with at least
NIGHTS_MIN before it by the prediction interval of their spread, on a logarithmic scale; it must
also be beyond all of them, and a rate must differ by Fisher's exact test of the runs, too. The last
WEEK nights are compared with those before them by the exact rank sum test. There are at most
BEFORE_MAX nights before; with too few nights nothing is tested. Figures that change by less than
LEAST_CHANGE are left out.

All tests of a night are corrected together (Holm). A night without a change has a false alarm with
a probability of at most LEVEL, if nights are independent, their medians are spread log-normally,
and they have about as many runs. A subject that is INVALID for the first time, and a control that
is not caught for the first time, are named without a test: they are facts of that night, not
figures.

A change begins a new time, and so does another load: later nights are compared with the nights
since.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from harness.comparison.trends import night_series
from harness.comparison.trends.night_series import Key, Measure, Series
from harness.statistics import exact_tests, rank_tests, rates

LEVEL = 0.01
"""Probability of any false alarm in a night in which nothing has changed."""
WEEK = 7
BEFORE_MAX = 60
LEAST_CHANGE = 0.1
NIGHTS_MIN = rank_tests.BEFORE_MIN
"""Fewest nights before one night that is tested."""
LEAST_SPREAD = 0.02
"""Relative standard deviation of nights that is always supposed: figures are rounded."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A rate or figure that is not what it was before."""

    key: Key
    measure: str
    unit: str
    """Empty for a rate."""
    first: int
    """The first night that is different."""
    found: int
    """The night after which it was found."""
    is_worse: bool
    before: float
    after: float
    """The share of INVALID runs, or the median."""
    before_text: str
    after_text: str
    p_value: float | None
    """The p-value after the correction; None: no test was needed."""

    @property
    def text(self) -> str:
        """The change in a sentence."""
        word = "worse" if self.is_worse else "better"
        about = f"{self.key}: {self.measure} is {word}: {self.before_text}, now {self.after_text}"
        return f"{about} ({self._why})"

    @property
    def _why(self) -> str:
        if self.p_value is None:
            return "not caught" if self.key.purpose.must_fail else "INVALID for the first time"
        return "p < 0.001" if self.p_value < 0.001 else f"p {self.p_value:.2g}"


@dataclasses.dataclass(slots=True)
class _Watched:
    """One rate or figure with the place of its first night since its last change."""

    key: Key
    measure: Measure | None
    """None: the rate."""
    nights: list[int]
    loads: list[str]
    values: list[float]
    """A value for each night: the median of its runs, or the share of them that is INVALID."""
    scaled: list[float]
    """The values on the scale on which their spread does not depend on them; some may be NaN."""
    totals: list[tuple[int, int]]
    """Failures and runs (or 0 and values) in the first 0, 1, … nights together."""
    load: str = ""
    """The last load that is known."""
    since: int = 0
    seen: int = 0
    """The number of nights up to the present one."""

    def total(self, start: int, end: int) -> rates.Rate:
        """Return the failures and runs of some nights together."""
        failed = self.totals[end][0] - self.totals[start][0]
        return rates.Rate(failed, self.runs(start, end))

    def runs(self, start: int, end: int) -> int:
        """Return the runs, or values, of some nights together."""
        return self.totals[end][1] - self.totals[start][1]

    def usual_runs(self, start: int, end: int) -> float:
        """Return the harmonic mean of the runs of each of some nights."""
        return statistics.harmonic_mean([self.runs(n, n + 1) for n in range(start, end)])


@dataclasses.dataclass(slots=True)
class _Test:
    """One test of the last nights of a rate or figure."""

    watched: _Watched
    begin: int
    """The place of the first of the last nights."""
    start: int
    """The place of the first night that they are compared with."""
    p_value: float = 1.0

    @property
    def is_possible(self) -> bool:
        """True if some outcome of as many nights would be found."""
        length, before = self.watched.seen - self.begin, self.begin - self.start
        if length > 1:
            return rank_tests.least_exact_p_value(length, before) <= LEVEL
        scaled = self.watched.scaled[self.start : self.watched.seen]
        return before >= NIGHTS_MIN and not any(map(math.isnan, scaled))

    def decide(self) -> None:
        """Set the p-value; it stays 1 where nothing would be reported."""
        before, recent = self._values()
        if len(recent) > 1:
            if self._is_large(before, recent):
                self.p_value = rank_tests.exact_p_value(recent, before)
        elif not min(before) <= recent[0] <= max(before) and self._is_large(before, recent):
            self.p_value = self._of_night()

    def _of_night(self) -> float:
        item = self.watched
        usual = item.usual_runs(self.start, self.begin)
        least = LEAST_SPREAD**2 if item.measure is not None else 0.25 / usual
        p_value = rank_tests.p_value_alone(
            item.scaled[self.start : self.begin],
            item.scaled[self.begin],
            least_variance=least,
            ratio=max(usual / item.runs(self.begin, item.seen), 1.0),
        )
        return p_value if item.measure is not None else max(p_value, self._fisher())

    def _fisher(self) -> float:
        return exact_tests.stratified([self._totals()])

    def _totals(self) -> tuple[rates.Rate, rates.Rate]:
        item = self.watched
        return item.total(self.start, self.begin), item.total(self.begin, item.seen)

    def _is_large(self, before: Sequence[float], recent: Sequence[float]) -> bool:
        return self.watched.measure is None or _is_large(before, recent)

    def _values(self) -> tuple[list[float], list[float]]:
        found = self.watched.values
        return found[self.start : self.begin], found[self.begin : self.watched.seen]

    @property
    def is_new(self) -> bool:
        """True for the first INVALID night of a subject, or the first without any for a control."""
        item = self.watched
        if item.measure is not None or self.begin == self.start:
            return False
        before = [value > 0 for value in item.values[item.since : self.begin]]
        is_failing = item.values[self.begin] > 0
        if item.key.purpose.must_fail:
            return all(before) and not is_failing
        return is_failing and not any(before)

    def change(self, night: int, corrected: float | None) -> Change:
        """Return the change that this test found after a night."""
        item = self.watched
        if item.measure is None:
            old, new = self._totals()
            before, after, unit = old.share, new.share, ""
            texts = _counted(old), _counted(new)
            # A control that is caught less often is worse: it must be INVALID.
            is_worse = (after > before) != item.key.purpose.must_fail
        else:
            before, after = map(_median, self._values())
            unit = item.measure.unit
            share = f" ({(after - before) / before:+.0%})".replace("%", " %") if before else ""
            texts = f"{before:.4g} {unit}", f"{after:.4g} {unit}{share}"
            is_worse = (after < before) == item.measure.is_better_high
        return Change(
            key=item.key,
            measure=night_series.RATE if item.measure is None else item.measure.name,
            unit=unit,
            first=item.nights[self.begin],
            found=night,
            is_worse=is_worse,
            before=before,
            after=after,
            before_text=texts[0],
            after_text=texts[1],
            p_value=corrected,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Examined:
    """The changes over some nights, and how much of the newest one could be tested."""

    changes: list[Change]
    """Ordered by the nights after which they were found."""
    tested: int
    """Rates and figures of the newest night that were tested."""
    too_few: int
    """Those with too few nights before it."""


def find(all_series: Iterable[Series], nights: int) -> list[Change]:
    """Return all changes, in the order of the nights after which they were found."""
    return examine(all_series, nights).changes


def examine(all_series: Iterable[Series], nights: int) -> Examined:
    """Return all changes, and what could not be tested after the newest night."""
    due: dict[int, list[_Watched]] = {}
    for series in all_series:
        for item in _watched(series):
            for night in item.nights:
                due.setdefault(night, []).append(item)
    found: list[Change] = []
    tested = 0
    for night in range(nights):
        tests = [test for item in due.get(night, []) for test in _tests(item)]
        tested = len({id(test.watched) for test in tests if test.is_possible})
        found += _of_night(night, tests)
    return Examined(found, tested, len(due.get(nights - 1, [])) - tested)


def _watched(series: Series) -> Iterator[_Watched]:
    points = [point for point in series.rates if point.rate.runs]
    if points:
        yield _Watched(
            series.key,
            None,
            [point.night for point in points],
            [point.load for point in points],
            [point.rate.share for point in points],
            [math.asin(math.sqrt(point.rate.share)) for point in points],
            _summed((point.rate.failed, point.rate.runs) for point in points),
        )
    for measure in night_series.MEASURES:
        figures = series.figures.get(measure.name, ())
        if figures:
            yield _Watched(
                series.key,
                measure,
                [point.night for point in figures],
                [point.load for point in figures],
                [point.median for point in figures],
                [math.log(point.median) if point.median > 0 else math.nan for point in figures],
                _summed((0, len(point.values)) for point in figures),
            )


def _summed(counts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sums of the first 0, 1, … pairs."""
    sums = [(0, 0)]
    for failed, runs in counts:
        sums.append((sums[-1][0] + failed, sums[-1][1] + runs))
    return sums


def _of_night(night: int, every: Sequence[_Test]) -> list[Change]:
    """Return the changes that are found after a night, one for each rate or figure."""
    new = [test for test in every if test.watched.seen - test.begin == 1 and test.is_new]
    found = {id(test.watched): test.change(night, None) for test in new}
    tests = [test for test in every if test.is_possible]
    for test in tests:
        test.decide()
    tests.sort(key=lambda test: test.p_value)
    corrected = exact_tests.holm([test.p_value for test in tests])
    for test, p_value in zip(tests, corrected, strict=True):
        if p_value <= LEVEL and id(test.watched) not in found:
            found[id(test.watched)] = test.change(night, p_value)
            new.append(test)
    for test in new:
        test.watched.since = test.begin
    return sorted(found.values(), key=_importance)


def _tests(item: _Watched) -> Iterator[_Test]:
    """Yield the tests of a rate or figure after one more night: of that night, and of a week."""
    load = item.loads[item.seen]
    if load and item.load and load != item.load:
        item.since = item.seen
    item.load = load or item.load
    item.seen += 1
    for length in (1, WEEK):
        begin = item.seen - length
        start = max(item.since, begin - BEFORE_MAX)
        if begin - start >= length:
            yield _Test(item, begin, start)


def _is_large(before: Sequence[float], recent: Sequence[float]) -> bool:
    """Return whether the medians differ by at least LEAST_CHANGE."""
    both = [*before, *recent]
    least = min(both)
    if max(both) - least < LEAST_CHANGE * abs(least):
        return False  # the medians lie between them: there is no need for sorting
    old, new = _median(before), _median(recent)
    return abs(new - old) >= LEAST_CHANGE * abs(old)


def _median(values: Sequence[float]) -> float:
    """Return the median, in half the time that `statistics` takes."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _importance(change: Change) -> tuple[bool, bool, Key, int]:
    """Return the order within a night: what is worse, and rates, come first."""
    is_figure = change.measure != night_series.RATE
    return not change.is_worse, is_figure, change.key, night_series.order(change.measure)


def _counted(rate: rates.Rate) -> str:
    return f"{rate.failed} of {rate.runs} runs ({rates.span(*rate.interval)} %)"
