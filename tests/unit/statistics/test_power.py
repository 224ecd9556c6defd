"""Power: by definition, by simulation, and against the test whose power it is."""

import random

import pytest

from harness.statistics import confidence_sequences, exact_tests, power, power_tables
from harness.statistics.confidence_sequences import Question
from harness.statistics.rates import Rate


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.05, 0.2, 0.9])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_runs_to_see_a_rate_are_the_fewest(rate: float, confidence: float) -> None:
    runs = power.runs_to_see(rate, confidence)
    assert runs is not None
    assert power.seen(rate, runs) >= confidence - 1e-9
    assert 1 - (1 - rate) ** (runs - 1) < confidence
    assert power.seen(rate, runs) == pytest.approx(1 - (1 - rate) ** runs)


def test_rates_at_the_ends() -> None:
    assert power.runs_to_see(0.0, 0.95) is None
    assert power.runs_to_see(1e-9, 0.95) is None
    assert power.runs_to_see(1.0, 0.95) == 1
    assert (power.seen(1.0, 3), power.seen(1.0, 0), power.seen(0.0, 9)) == (1.0, 0.0, 0.0)


def test_the_region_of_rejection_is_that_of_boschloos_test() -> None:
    for first, second in ((5, 5), (4, 9)):
        found = exact_tests.rejected(first, second, 0.05)
        for a in range(first + 1):
            for b in range(second + 1):
                p_value = exact_tests.boschloo(Rate(a, first), Rate(b, second))
                assert found[a, b] == (p_value <= 0.05), (a, b)
    assert not exact_tests.rejected(1, 1, 0.05).any()


def test_a_comparison_has_the_stated_power() -> None:
    runs = power.runs_to_compare(0.3, 0.0, confidence=0.95, power=0.8)
    assert runs is not None
    stated = power.of_comparison(0.3, 0.0, runs, confidence=0.95)
    assert stated >= 0.8
    assert power.of_comparison(0.3, 0.0, runs - 1, confidence=0.95) < 0.8
    drawn = random.Random(3)
    found = [
        exact_tests.boschloo(Rate(sum(drawn.random() < 0.3 for _ in range(runs)), runs), clean)
        for clean in [Rate(0, runs)] * 200
    ]
    assert sum(value <= 0.05 for value in found) / 200 == pytest.approx(stated, abs=0.1)
    assert power.runs_to_compare(0.3, 0.3, confidence=0.95, power=0.8) is None


def test_the_table_has_all_of_it() -> None:
    question = Question(0.2, 0.9)
    made = power_tables.table(
        [0.0, 0.5, 1.0], confidence=0.9, runs=[3], against=0.0, question=question, runs_max=40
    )
    none, half, every = made.rows
    assert (none.runs_to_see, none.clean_runs_until_decided, none.compared_runs) == (None,) * 3
    assert half.runs_to_see == 4
    assert half.seen[0].probability == pytest.approx(0.875)
    assert half.clean_runs_until_decided == power.clean_runs(Question(0.5, 0.9))
    assert every.runs_to_see == 1
    for row in made.rows:
        assert row.course is not None
        whole = row.course.below + row.course.at_least + row.course.undecided
        assert whole == pytest.approx(1)
    assert none.course is not None
    assert none.course.below == pytest.approx(1)
    assert none.course.mean_runs == power.clean_runs(question)
    decided = confidence_sequences.decide(question, [True] * 40)
    assert every.course is not None
    assert every.course.mean_runs == decided.rate.runs
