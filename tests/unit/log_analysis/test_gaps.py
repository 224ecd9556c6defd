"""A log that lacks something proves nothing: what was correct never looks like a violation."""

import os

import pytest

from harness.model.answers import Verdict
from tests.support import mutilated_logs
from tests.support.log_lines import Story
from tests.unit.log_analysis import conftest

CUTS = int(os.environ.get("FLAKE_HUNT_CUTS", "12"))
REPLICAS = mutilated_logs.RUNS["two replicas"]
PODS = "[pod/kube-scheduler-{0}/kube-scheduler] "


@pytest.mark.parametrize("seed", range(CUTS))
@pytest.mark.parametrize("run", mutilated_logs.RUNS)
def test_a_mutilated_log_of_a_correct_run_is_never_invalid(
    analyse: conftest.Analyse, run: str, seed: int
) -> None:
    for number in range(2):
        logs = mutilated_logs.mutilated(mutilated_logs.RUNS[run], (run, seed, number))
        names = tuple(f"process-{number}" for number in range(len(logs)))
        analysis = analyse(*logs, names=names)
        assert analysis.verdict is not Verdict.INVALID, (number, analysis.findings)


@pytest.mark.parametrize("run", mutilated_logs.RUNS)
def test_the_whole_logs_are_valid(analyse: conftest.Analyse, run: str) -> None:
    logs = [*map(mutilated_logs.content, mutilated_logs.RUNS[run])]
    analysis = analyse(*logs, names=tuple(mutilated_logs.RUNS[run]))
    assert analysis.verdict is Verdict.VALID, analysis.reasons


def test_lines_that_journald_suppressed_may_have_freed_the_device(
    analyse: conftest.Analyse,
) -> None:
    analysis = analyse(mutilated_logs.content("suppressed"))
    assert (analysis.verdict, analysis.undecided_count) == (Verdict.UNKNOWN, 1)
    assert "129 lines were suppressed by journald" in analysis.reasons[0]
    assert "seems to be allocated twice" in analysis.reasons[1]


def prefixed(name: str) -> list[str]:
    lines = mutilated_logs.content(name).splitlines(keepends=True)
    return [PODS.format(name) + line for line in lines]


def test_replicas_in_one_stream_are_told_apart_and_count_an_allocation_once(
    analyse: conftest.Analyse,
) -> None:
    one = "".join(line for name in REPLICAS for line in prefixed(name))
    analysis = analyse(one)
    assert (analysis.verdict, analysis.allocations) == (Verdict.VALID, 24)


def test_the_line_with_which_a_process_starts_ends_what_the_one_before_believed(
    analyse: conftest.Analyse,
) -> None:
    story = Story().attempt("a").reserve("a").assume("a").observe("a")
    story.add("Starting Kubernetes Scheduler", version="v1.36.3").observe("a")
    story.free("a").attempt("b").reserve("b").assume("b").observe("b")
    analysis = analyse(story.text())
    assert (analysis.verdict, analysis.allocations) == (Verdict.VALID, 2)


def in_turn() -> Story:
    story = Story().attempt("a").gather().reserve("a").assume("a").observe("a").remove("a")
    story.attempt("b").gather().reserve("b").assume("b").observe("b").remove("b")
    return story.bind("b").bound("b")


def test_it_stands_if_the_first_claim_is_seen_to_lose_the_device_later(
    analyse: conftest.Analyse,
) -> None:
    assert analyse(in_turn().text()).verdict is Verdict.UNKNOWN
    analysis = analyse(in_turn().free("a").text())
    assert (analysis.verdict, analysis.undecided_count) == (Verdict.INVALID, 0)


def test_a_plan_that_came_to_nothing_proves_nothing_about_a_later_one(
    analyse: conftest.Analyse,
) -> None:
    """The first plan was given up in a line that is missing, as is the second plan of the claim."""
    story = Story().attempt("a").gather().reserve("a")
    story.add("Error scheduling pod; retrying", err="timeout", pod="default/pod-a")
    story.attempt("b").gather().reserve("b").assume("b").observe("b").remove("b")
    story.assume("a").observe("a").remove("a").bind("a").bound("a")
    assert analyse(story.text()).verdict is Verdict.UNKNOWN


def test_a_claim_whose_pod_was_tried_again_may_have_got_the_device_once_more(
    analyse: conftest.Analyse,
) -> None:
    """It is removed twice, so lines are missing: its release and its second plan, perhaps."""
    story = Story().attempt("a").gather().reserve("a").assume("a").observe("a").remove("a")
    story.add("Error scheduling pod; retrying", err="timeout", pod="default/pod-a")
    story.attempt("b").gather().reserve("b").assume("b").observe("b").remove("b")
    assert analyse(story.remove("a").free("a").text()).verdict is Verdict.UNKNOWN
