"""Pods of which something may be unseen are doubt, and never make a violation."""

from collections.abc import Callable

import pytest

from harness.checks.claims import claims_in_use, generated_claims, reservations
from harness.history import records
from tests.histories import claim_judging, language

Body = list[records.Body]
TAKEN = "p:a a+D1 a^p p>n p* a/p"
"""A running pod loses its reservation."""


def _gap(after: int) -> Callable[[Body], Body]:
    gap = records.Gap(resource="pods", after_resource_version=after, reason="410", ts_ns=0)
    return lambda body: [*body[: after + 2], gap, *body[after + 2 :]]


def _unlisted(resource: str) -> Callable[[Body], Body]:
    """The history without the first list of a resource."""
    return lambda body: [
        item
        for item in body
        if not (
            isinstance(item, records.Listed)
            and (item.resource, item.purpose) == (resource, "first")
        )
    ]


def _swapped(body: Body) -> Body:
    """The history in which the last two versions of the pod come in the wrong order."""
    return [*body[:5], body[6], body[5], *body[7:]]


def _again(body: Body) -> Body:
    """The history in which the last version of the pod comes twice."""
    return [*body[:7], body[6], *body[7:]]


def _count(check: str, text: str, change: Callable[[Body], Body]) -> int:
    answer = claim_judging.result(check, change(language.observe(text)))
    return answer.violation_count


@pytest.mark.parametrize("change", [_gap(0), _gap(4), _gap(5), _swapped, _again])
def test_a_pod_that_may_have_gone_unseen_loses_nothing(change: Callable[[Body], Body]) -> None:
    assert _count(claims_in_use.CHECK.name, TAKEN, list) == 1
    assert _count(claims_in_use.CHECK.name, TAKEN, change) == 0


@pytest.mark.parametrize(("resource", "count"), [("pods", 0), ("resourceclaims", 1)])
def test_without_the_first_list_of_the_pods_none_is_missed(resource: str, count: int) -> None:
    assert _count(reservations.CHECK.name, "a+D1 a^p", _unlisted(resource)) == count


def test_a_gap_hides_the_record_of_a_claim() -> None:
    text = "p:? a<p p>n"
    assert _count(generated_claims.CHECK.name, text, list) == 1
    assert _count(generated_claims.CHECK.name, text, _gap(2)) == 0


def test_pods_of_other_names_are_not_named() -> None:
    answer = claim_judging.judge(reservations.CHECK.name, "q:a a+D1 a^p")
    assert answer.violations[0].summary == "claim a was reserved for a pod that never existed"
