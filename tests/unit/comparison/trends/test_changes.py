"""Which nights are found to be worse or better, and how often that is a false alarm."""

import pytest

from harness.comparison.trends import changes, night_series
from harness.comparison.trends.changes import Change
from harness.comparison.trends.night_series import Night
from tests.histories import nights


def found(made: list[Night]) -> list[Change]:
    return changes.find(night_series.of_nights(made), len(made))


def test_the_last_night_is_slower_and_has_a_defect() -> None:
    """A slower scheduler and a defect that shows in 20 % of the runs: both are named."""
    made = [nights.night(number, runs=40) for number in range(7)]
    made.append(nights.night(7, runs=40, rate=0.2, speed=nights.SLOWER))
    worse = {(change.key.subject, change.measure): change for change in found(made)}
    assert {change.first for change in worse.values()} == {7}
    assert all(change.is_worse for change in worse.values())
    rate = worse["correct", night_series.RATE]
    assert (rate.before, rate.after, rate.p_value) == (0.0, 0.2, None)
    assert rate.text.startswith(
        "pod-churn, correct: rate of INVALID is worse: 0 of 280 runs (0 to 1.4 %), now 8 of 40 runs"
    )
    assert worse["correct", "throughput"].after == pytest.approx(30, rel=0.1)
    assert ("correct", "claim to allocation, p99") in worse


def test_with_fewer_nights_than_the_test_needs_no_speed_is_worse() -> None:
    for before in range(1, changes.NIGHTS_MIN):
        made = [nights.night(number, runs=40) for number in range(before)]
        made.append(nights.night(before, runs=40, speed=0.3))
        examined = changes.examine(night_series.of_nights(made), len(made))
        assert (examined.changes, examined.tested, examined.too_few) == ([], 0, 8)


def test_a_first_invalid_night_needs_no_test() -> None:
    made = [nights.night(0, runs=3), nights.night(1, runs=3, rate=1.0)]
    (change,) = found(made)
    assert (change.is_worse, change.before, change.after, change.p_value) == (True, 0.0, 1.0, None)
    assert change.text.endswith("(INVALID for the first time)")


def test_a_change_is_named_once_and_its_end_too() -> None:
    speeds = [1.0] * 10 + [nights.SLOWER] * 10 + [1.0] * 10
    made = [nights.night(number, runs=12, speed=speed) for number, speed in enumerate(speeds)]
    slower = [change for change in found(made) if change.measure == "throughput"]
    assert [(change.first, change.is_worse) for change in slower] == [(10, True), (20, False)]


def test_a_week_finds_what_one_night_is_too_short_for() -> None:
    """With one run a night, nights are compared and not runs."""
    speeds = [1.0] * 30 + [0.8] * 8
    made = [nights.night(number, runs=1, speed=speed) for number, speed in enumerate(speeds)]
    slower = [change for change in found(made) if change.measure == "throughput"]
    assert slower
    assert slower[0].is_worse
    assert slower[0].found - slower[0].first == changes.WEEK - 1


def test_nights_without_a_change_have_few_false_alarms() -> None:
    alarmed, count = set(), 120
    for seed in (1, 2, 3):
        made = [nights.night(number, runs=6, luck=0.2, seed=seed) for number in range(count)]
        alarmed |= {(seed, change.found) for change in found(made)}
    assert len(alarmed) <= 3 * count * changes.LEVEL + 3


def test_nights_that_differ_as_machines_do_are_no_changes() -> None:
    """Within a night the runs agree, but each night is faster or slower than others."""
    speeds = [1.0, 0.85, 1.1, 0.95, 0.8, 1.15, 0.9, 1.05, 0.88, 1.02]
    made = [nights.night(number, runs=20, speed=speed) for number, speed in enumerate(speeds)]
    calm = [nights.night(10 + number, runs=20, speed=0.97) for number in range(10)]
    assert found(made + calm) == []


def test_a_control_that_is_caught_less_often_is_worse() -> None:
    made = [nights.night(number, runs=20) for number in range(4)]
    missed = [
        run if run.subject == "correct" else type(run)(**{**fields(run), "verdict": "VALID"})
        for run in made[3].runs
    ]
    made[3] = Night(**{**fields(made[3]), "runs": missed})
    (change,) = (item for item in found(made) if item.measure == night_series.RATE)
    assert (change.key.subject, change.is_worse, change.after) == ("gather-not-atomic", True, 0.0)


def fields(item: object) -> dict[str, object]:
    return {name: getattr(item, name) for name in item.__struct_fields__}  # type: ignore[attr-defined]


def test_clusters_are_not_compared_with_each_other() -> None:
    made = [nights.night(number, runs=20, cluster="embedded") for number in range(3)]
    made += [nights.night(number, runs=20, speed=0.3, cluster="kind") for number in (3, 4)]
    assert found(made) == []


def test_another_load_begins_a_new_time() -> None:
    usual = [nights.night(number, runs=20) for number in range(7)]
    loads = ["4567", "", "4567", "4567", "4567"]
    other = [
        nights.night(number, runs=20, rate=0.5, speed=0.4, load=load)
        for number, load in enumerate(loads, start=7)
    ]
    assert [change for change in found(usual + other) if change.key.subject == "correct"] == []
    same = [nights.night(7, runs=20, rate=0.5, speed=0.4, load="")]
    assert found(usual + same), "a load that is not known is taken for the usual one"


def test_a_small_change_is_left_out() -> None:
    made = [nights.night(number, runs=200, speed=1.0) for number in range(9)]
    made.append(nights.night(9, runs=200, speed=0.95))
    assert found(made) == []
