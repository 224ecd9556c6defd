"""Failures around writes of claims: each counts once, with its line, and other errors do not."""

import pytest

from harness.log_analysis import write_failures
from harness.log_analysis.write_failures import Kind
from tests.support.log_lines import FORMS, Story
from tests.unit.log_analysis import conftest

URL = "https://10.0.0.1:6443/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/a"
FAILED = "Error scheduling pod; retrying"
TIMED_OUT = (
    "the server was unable to return a response in the time allotted, but may still be processing "
    "the request (put resourceclaims.resource.k8s.io a)"
)
ERRORS = {
    f'Put "{URL}/status": context deadline exceeded': Kind.LOST_ANSWER,
    f'Put "{URL}/status": read tcp 10.0.0.2:1->10.0.0.1:6443: read: connection reset by peer': (
        Kind.LOST_ANSWER
    ),
    f'Put "{URL}/status": http2: client connection lost': Kind.LOST_ANSWER,
    f'Put "{URL}/status?timeout=5s": net/http: request canceled': Kind.LOST_ANSWER,
    f"PUT {URL}/status: sent, but got no complete response (ConnectionResetError)": (
        Kind.LOST_ANSWER
    ),
    f'Put "{URL}/status": dial tcp 10.0.0.1:6443: connect: connection refused': Kind.NOT_SENT,
    f'Put "{URL}/status": dial tcp 10.0.0.1:6443: i/o timeout': Kind.NOT_SENT,
    f'running PreBind plugin "DynamicResources": {TIMED_OUT}': Kind.LOST_ANSWER,
    f'Put "{URL}": EOF': None,  # the finalizer
    f'Get "{URL}": context deadline exceeded': None,
    f'Put "{URL}/status": the server rejected our request': None,
    "binding rejected: EOF": None,
    "": None,
}


def counted(analyse: conftest.Analyse, story: Story, form: str = "klog") -> dict[Kind, int]:
    return {item.kind: item.count for item in analyse(story.text(form)).failures}


@pytest.mark.parametrize("error", ERRORS)
def test_errors_are_told_apart(analyse: conftest.Analyse, error: str) -> None:
    kind = ERRORS[error]
    story = Story().add(FAILED, err=error, pod="default/pod-a")
    assert counted(analyse, story) == ({kind: 1} if kind else {})


def test_an_error_of_the_api_server_names_the_claim(analyse: conftest.Analyse) -> None:
    """The claim is in the pod's namespace."""
    story = Story().attempt("a").gather().reserve("a").remove("a")
    story.add(FAILED, err=TIMED_OUT, pod="default/pod-a")
    story.attempt("b").gather().reserve("b").assume("b").observe("b").remove("b").observe("a")
    analysis = analyse(story.text())
    assert analysis.findings[0].found.first.unanswered is not None


@pytest.mark.parametrize("form", FORMS)
def test_what_went_wrong_is_counted_with_its_lines(analyse: conftest.Analyse, form: str) -> None:
    story = Story().lose_answer("a").lose_answer("b").observe("c")
    story.add("retrying update after conflict", claim="default/a")
    story.add("Conflicting modification during GatherAllocatedState, trying again")
    story.add("Conflicting modification during ListAllAllocatedDevices, trying again")
    story.add("Claim not stored in assume cache", err="ResourceClaim default/a is out of sync")
    story.add("Redundant remove of in-flight claim, not found", uid="u")
    failures = analyse(story.text(form)).failures
    assert [(item.kind, item.count, [line.number for line in item.lines]) for item in failures] == [
        (Kind.CONFLICT, 1, [8]),
        (Kind.LOST_ANSWER, 2, [1, 4]),
        (Kind.GATHER_CONFLICT, 2, [9, 10]),
        (Kind.NOT_ASSUMED, 1, [11]),
        (Kind.REMOVED_TWICE, 1, [12]),
    ]


def test_a_later_failure_of_the_same_write_counts_again(analyse: conftest.Analyse) -> None:
    story = Story().lose_answer("a")
    story.lines += Story().add("other").lines * 10_000  # 0.1 s
    story.lose_answer("a")
    assert counted(analyse, story) == {Kind.LOST_ANSWER: 2}


def test_the_lines_of_very_many_failures_are_bounded(analyse: conftest.Analyse) -> None:
    story = Story()
    for number in range(3_000):
        story.lose_answer(f"c{number}")
    (failures,) = analyse(story.text()).failures
    assert (failures.count, len(failures.lines)) == (3_000, write_failures.LINES_MAX)
