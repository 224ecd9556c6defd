"""The search on scenarios of which it is known when they fail."""

import random
from collections.abc import Callable

import pytest

from harness import errors, rates
from harness.reproduction import reproducing, shrinking, smaller_scenarios
from harness.scenario import specs, traffic_specs
from tests.unit.reproduction import scenarios

Rate = Callable[[specs.Scenario], float]


class Runner:
    """Fails at a rate that the scenario has."""

    def __init__(self, rate: Rate, *, seed: int = 3) -> None:
        self._rate, self._dice = rate, random.Random(seed)
        self.made: list[specs.Scenario] = []

    def __call__(self, scenario: specs.Scenario) -> shrinking.Attempt:
        self.made.append(scenario)
        failed = self._dice.random() < self._rate(scenario)
        return shrinking.Attempt(failed=failed, reason="drawn")


def search(
    make: shrinking.Make, *, is_over: Callable[[], bool] = lambda: False
) -> shrinking.Search:
    original = shrinking.Tally(scenarios.scenario(), failed=1, runs=1)
    found = shrinking.Search(original, make, is_over=is_over)
    found.run()
    return found


def names(scenario: specs.Scenario) -> list[str]:
    return [fault.name or fault.kind for fault in scenario.faults]


def h1(scenario: specs.Scenario) -> float:
    """Needs both faults, a lag of 0.2 s, and two claims."""
    lag = next((getattr(item, "seconds", 0.0) for item in scenario.faults if "d" in item.kind), 0.0)
    both = len(scenario.faults) == 2
    return 0.9 if both and lag >= 0.2 else 0.0


def test_what_needs_two_claims_and_both_faults_is_shrunk_to_them() -> None:
    make = Runner(h1)
    best = search(make).best.scenario
    assert isinstance(best.traffic, traffic_specs.AllAtOnceTraffic)
    assert (best.pools.nodes, best.pools.devices_per_node, best.traffic.pods) == (1, 1, 2)
    assert (best.traffic.users, best.traffic.processes) == (1, 1)
    assert names(best) == ["lost", "delay-events"]
    assert [getattr(fault, "times", None) for fault in best.faults] == [1, None]
    assert 0.2 <= getattr(best.faults[1], "seconds", 0) < 0.5
    assert len(make.made) < 80


def test_a_fault_that_does_nothing_goes() -> None:
    best = search(Runner(lambda scenario: "lost" in names(scenario))).best.scenario
    assert names(best) == ["lost"]


def test_a_size_that_is_needed_is_found_between() -> None:
    def rate(scenario: specs.Scenario) -> float:
        return float(scenario.pools.nodes * scenario.pools.devices_per_node >= 7)

    pools = search(Runner(rate)).best.scenario.pools
    assert 7 <= pools.nodes * pools.devices_per_node <= 10


def test_a_rare_failure_is_not_taken_for_a_frequent_one() -> None:
    start = scenarios.scenario()
    trail = search(Runner(lambda scenario: 0.9 if scenario == start else 0.1)).trail
    assert [tally.scenario for tally in trail] == [start]


def test_no_candidate_is_decided_twice() -> None:
    make = Runner(lambda scenario: 0.0)
    search(make)
    counts = [make.made.count(scenario) for scenario in make.made]
    assert set(counts) == {2}, "two runs without a failure reject a candidate"


def test_no_candidate_begins_when_the_time_is_over() -> None:
    make = Runner(h1)
    found = search(make, is_over=lambda: len(make.made) >= 3)
    assert len(make.made) == 3
    assert len(found.trail) <= 2


def test_a_candidate_that_cannot_be_run_is_not_kept() -> None:
    def make(scenario: specs.Scenario) -> shrinking.Attempt:
        if scenario.pools.nodes == 1:
            raise errors.UsageError("expected two nodes")
        return shrinking.Attempt(failed=True, reason="")

    assert search(make).best.scenario.pools.nodes == 2


# ------------------------------------------------------------------ the whole session


def session(make: shrinking.Make, **options: float) -> reproducing.Session:
    chosen = reproducing.Options(**options)  # type: ignore[arg-type]
    return reproducing.Session(scenarios.scenario(), make, chosen)


def test_the_rate_is_measured_in_runs_of_its_own() -> None:
    running = session(Runner(h1))
    assert running.run() is False
    assert running.best.runs == 20
    assert running.best.failed >= 14
    assert getattr(running.best.scenario.traffic, "pods", None) == smaller_scenarios.PODS_LEAST


def test_a_scenario_that_fails_too_rarely_in_the_end_gives_way_to_the_one_before() -> None:
    made: list[specs.Scenario] = []

    def make(scenario: specs.Scenario) -> shrinking.Attempt:
        made.append(scenario)
        is_smallest = scenario.pools.nodes == 1 and scenario.pools.devices_per_node == 1
        often = not is_smallest or made.count(scenario) <= 3
        is_shrunk = len(scenario.faults) < 2 or scenario.traffic.users < 8
        return shrinking.Attempt(failed=often and not is_shrunk, reason="")

    running = session(make)
    running.run()
    assert running.best.rate == rates.Rate(20, 20)
    assert running.best.scenario.pools.devices_per_node > 1


def test_a_run_that_never_fails_again() -> None:
    make = Runner(lambda scenario: 0.0)
    running = session(make)
    assert running.run() is False
    assert (running.best.failed, len(make.made)) == (0, reproducing.FIRST_RUNS_MAX)


@pytest.mark.parametrize("after", [1, 10, 60])
def test_an_interruption_keeps_the_best_so_far(after: int) -> None:
    always = Runner(lambda scenario: 1.0)

    def make(scenario: specs.Scenario) -> shrinking.Attempt:
        if len(always.made) >= after:
            raise KeyboardInterrupt
        return always(scenario)

    running = session(make, confirmations=100)
    assert running.run() is True
    assert running.best.failed == running.best.runs >= 1
    assert running.best.scenario in always.made


# ------------------------------------------------------------------ one decision


@pytest.mark.parametrize(
    ("failed", "runs", "decision"),
    [
        (0, 0, None),
        (3, 3, True),
        (2, 2, None),
        (0, 1, None),
        (0, 2, False),
        (2, 3, None),
        (5, 9, True),
        (4, 9, False),
    ],
)
def test_clear_cases_take_few_runs_and_others_end_by_majority(
    failed: int, runs: int, decision: bool | None
) -> None:
    assert shrinking.decide(failed, runs) is decision
