"""Nights from which on something is worse, or better: exact tests, corrected for their number.

After each night, each rate and figure is tested: this night against the nights before it, and the
last WEEK nights against those before them, with at most BEFORE_MAX nights before. Rates are tested
by Fisher's exact test of their runs. One night's figures are tested by the exact rank sum test of
its runs, and must also be beyond those of every night before, because machines differ from night to
night. Figures of a week are tested by the same test of the nights' medians. All tests of a night
are corrected together (Holm), so that a night without a change has a false alarm with a probability
of at most LEVEL. Figures that change by less than LEAST_CHANGE are left out. A change begins a new
time, and so does another load: later nights are compared with the nights since.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from harness.statistics import corrections, exact_tests, rank_sums, rates
from harness.trends import night_series
from harness.trends.night_series import Key, Measure, Series

LEVEL = 0.01
"""Probability of any false alarm in a night in which nothing has changed."""
WEEK = 7
BEFORE_MAX = 60
LEAST_CHANGE = 0.1
NIGHTS_MIN = 2
"""Fewest nights before one night whose figures are tested."""


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
    p_value: float
    """After the correction."""

    @property
    def text(self) -> str:
        """The change in a sentence."""
        word = "worse" if self.is_worse else "better"
        p = "< 0.001" if self.p_value < 0.001 else f"{self.p_value:.2g}"
        return f"{self.key}: {self.measure} is {word}: {self.before_text}, now {self.after_text} (p {p})"


@dataclasses.dataclass(slots=True)
class _Watched:
    """One rate or figure with the place of its first night since its last change."""

    key: Key
    measure: Measure | None
    """None: the rate."""
    nights: list[int]
    loads: list[str]
    medians: list[float]
    """Of each night's runs; empty for a rate."""
    values: Sequence[Sequence[float]]
    """Of each night; empty for a rate."""
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
        """True if some outcome of as many runs would be found."""
        item, length = self.watched, self.watched.seen - self.begin
        before = item.runs(self.start, self.begin)
        recent = item.runs(self.begin, item.seen)
        if item.measure is None:
            return bool(before and recent)
        if length > 1:
            return rank_sums.least_p_value(length, self.begin - self.start) <= LEVEL
        is_enough = self.begin - self.start >= NIGHTS_MIN
        return is_enough and rank_sums.least_p_value(recent, before) <= LEVEL

    def decide(self) -> None:
        """Set the p-value; it stays 1 where nothing would be reported."""
        item = self.watched
        if item.measure is None:
            # Most rates are 0 on both sides.
            if item.totals[item.seen][0] == item.totals[self.start][0]:
                return
            old, new = item.total(self.start, self.begin), item.total(self.begin, item.seen)
            if old.share != new.share:
                self.p_value = exact_tests.stratified([(old, new)])
        elif item.seen - self.begin > 1:
            before, recent = self._medians()
            if _is_large(before, recent):
                self.p_value = rank_sums.p_value(recent, before)
        elif not self._is_usual():
            before, (last,) = self._medians()
            if not min(before) <= last <= max(before) and _is_large(before, [last]):
                values = [
                    value for night in item.values[self.start : self.begin] for value in night
                ]
                self.p_value = rank_sums.p_value(item.values[self.begin], values)

    def _is_usual(self) -> bool:
        """Return whether the last night is not beyond the few before it: most need no more."""
        few = self.watched.medians[max(self.start, self.begin - WEEK) : self.begin]
        return min(few) <= self.watched.medians[self.begin] <= max(few)

    def _medians(self) -> tuple[list[float], list[float]]:
        found = self.watched.medians
        return found[self.start : self.begin], found[self.begin : self.watched.seen]

    def change(self, night: int, corrected: float) -> Change:
        """Return the change that this test found after a night."""
        item = self.watched
        if item.measure is None:
            old, new = item.total(self.start, self.begin), item.total(self.begin, item.seen)
            before, after, unit = old.share, new.share, ""
            texts = _counted(old), _counted(new)
            # A control that is caught less often is worse: it must be INVALID.
            is_worse = (after > before) != item.key.purpose.must_fail
        else:
            before, after = (_median(values) for values in self._medians())
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


def find(all_series: Iterable[Series], nights: int) -> list[Change]:
    """Return all changes, in the order of the nights after which they were found."""
    due: dict[int, list[_Watched]] = {}
    for series in all_series:
        for item in _watched(series):
            for night in item.nights:
                due.setdefault(night, []).append(item)
    found: list[Change] = []
    for night in range(nights):
        found += _of_night(night, due.get(night, []))
    return found


def _watched(series: Series) -> Iterator[_Watched]:
    rates_of_nights = [(point.rate.failed, point.rate.runs) for point in series.rates]
    nights = [point.night for point in series.rates]
    loads = [point.load for point in series.rates]
    yield _Watched(series.key, None, nights, loads, [], [], _summed(rates_of_nights))
    for measure in night_series.MEASURES:
        points = series.figures.get(measure.name, ())
        if points:
            yield _Watched(
                series.key,
                measure,
                [point.night for point in points],
                [point.load for point in points],
                [point.median for point in points],
                [point.values for point in points],
                _summed([(0, len(point.values)) for point in points]),
            )


def _summed(counts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sums of the first 0, 1, … pairs."""
    sums = [(0, 0)]
    for failed, runs in counts:
        sums.append((sums[-1][0] + failed, sums[-1][1] + runs))
    return sums


def _of_night(night: int, watched: Sequence[_Watched]) -> list[Change]:
    """Return the changes that are found after a night, one for each rate or figure."""
    tests = [test for item in watched for test in _tests(item) if test.is_possible]
    for test in tests:
        test.decide()
    if all(test.p_value > LEVEL for test in tests):
        return []
    tests.sort(key=lambda test: test.p_value)
    found: dict[int, Change] = {}
    for test, corrected in zip(
        tests, corrections.holm([test.p_value for test in tests]), strict=True
    ):
        if corrected > LEVEL:
            break
        if id(test.watched) not in found:
            found[id(test.watched)] = test.change(night, corrected)
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
    low, high = rate.interval
    return f"{rate.failed} of {rate.runs} runs ({low * 100:.3g} to {high * 100:.3g} %)"
