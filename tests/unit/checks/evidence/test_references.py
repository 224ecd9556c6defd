"""The objects that others name have to be observed, at any time."""

import pytest

from harness.checks.evidence import wholeness
from harness.checks.holds import hold_history
from harness.checks.observed import folders
from tests.histories import language


def _whole(text: str) -> wholeness.Wholeness:
    found, history = wholeness.Wholeness(), hold_history.HoldHistory()
    folders.fold(language.observe(text), history, found)
    found.conclude({hold_history.HoldHistory: history})
    return found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("a+D1 p:a p*", 1, id="claim-first"),
        pytest.param("p:a p* a+D1", 1, id="pod-first"),
        pytest.param("a= a~ p:a p*", 1, id="claim-that-has-gone"),
        pytest.param("p:a p* a= a~", 1, id="claim-that-came-and-went"),
        pytest.param("p:a a<p", 1, id="owner-first"),
        pytest.param("a<p p:a", 1, id="owner-later"),
        pytest.param("p:a p~ a<p", 1, id="owner-that-has-gone"),
        pytest.param("a= b= p:a,b p*", 2, id="two"),
        pytest.param("p:a b<p a= p*", 2, id="both-ways"),
    ],
)
def test_what_was_observed_is_not_missing(text: str, count: int) -> None:
    whole = _whole(text)
    assert whole.references.count == count
    assert whole.found.answer(wholeness.NAMED) == ""


def test_a_claim_that_was_never_observed() -> None:
    found = _whole("p:a p* b+D1").found
    assert found.answer(wholeness.NAMED) == "pods tests/p names claim a, which was never observed"
    assert not found.are_holds_in_doubt


def test_a_pod_that_was_never_observed() -> None:
    assert _whole("a<p b= q:b").found.answer(wholeness.NAMED) == (
        "resourceclaims tests/a names the pod with uid uid-p, which was never observed"
    )


def test_a_pod_that_does_not_run_may_name_a_claim_that_never_existed() -> None:
    assert _whole("p:a b+D1").found.count(wholeness.NAMED) == 0


def test_what_nothing_names_settles_no_other_name() -> None:
    whole = _whole("p:a p* q:b q* b= c=")
    assert whole.found.count(wholeness.NAMED) == 1
    assert "claim a" in whole.found.answer(wholeness.NAMED)
