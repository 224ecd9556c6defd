"""A lost answer to a status write is recognized, and other errors are not taken for one."""

import pytest

from tests.support.log_lines import Story
from tests.unit.log_analysis import conftest

URL = "https://10.0.0.1:6443/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/a"
FAILED = "Error scheduling pod; retrying"
TIMED_OUT = (
    "the server was unable to return a response in the time allotted, but may still be processing "
    "the request (put resourceclaims.resource.k8s.io a)"
)
URL_OF_STATUS = f"{URL}/status"
LOST = [
    f'Put "{URL_OF_STATUS}": context deadline exceeded',
    f'Put "{URL_OF_STATUS}": read tcp 10.0.0.2:1->10.0.0.1:6443: read: connection reset by peer',
    f'Put "{URL_OF_STATUS}": http2: client connection lost',
    f'Put "{URL_OF_STATUS}?timeout=5s": net/http: request canceled',
    f"PUT {URL_OF_STATUS}: sent, but got no complete response (ConnectionResetError)",
    TIMED_OUT,  # the claim is in the pod's namespace
    f'running PreBind plugin "DynamicResources": {TIMED_OUT}',
]
OTHERS = [
    f'Put "{URL_OF_STATUS}": dial tcp 10.0.0.1:6443: connect: connection refused',
    f'Put "{URL_OF_STATUS}": dial tcp 10.0.0.1:6443: i/o timeout',
    f'Put "{URL}": EOF',  # the finalizer
    f'Get "{URL}": context deadline exceeded',
    f'Put "{URL_OF_STATUS}": the server rejected our request',
    "binding rejected: EOF",
    "",
]


@pytest.mark.parametrize("error", [*LOST, *OTHERS])
def test_errors_are_told_apart(analyse: conftest.Analyse, error: str) -> None:
    story = Story().attempt("a").gather().reserve("a").remove("a")
    story.add(FAILED, err=error, pod="default/pod-a")
    story.attempt("b").gather().reserve("b").assume("b").observe("b").remove("b").observe("a")
    (finding,) = analyse(story.text()).findings
    assert (finding.found.first.unanswered is not None) is (error in LOST)
