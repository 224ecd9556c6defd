"""Each entry of a pod has one claim, which the pod's status names before it is bound."""

import pytest

from harness.checks import verdicts
from harness.checks.claims import generated_claims
from harness.history import records
from tests.histories import building, claim_judging, language

NAME = generated_claims.CHECK.name
found = claim_judging.judge_by(NAME)
ONE = "p:? a<p p?a a+D1 a^p p>n"
TWICE = "p:? a<p b<p p?b"
SECOND = "pod p has a second claim for device"


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        "p:?x,?y a<p:x b<p:y p?a:x p?b:y p>n",
        "p:? q:? a<p b<q",
        "p:? a<p a! b<p a~",  # the first one is being deleted
        "p:? a<p a~ b<p",
        "p:? a<p [ a~ ] b<p",
        "p:? a<p [ a~ b<p ]",  # one after the other, within a gap
        "p:? a<p p~ p:? b<p",  # another pod of that name
    ],
)
def test_one_claim_for_each_entry(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text", [TWICE, "p:? a<p b<p a! a~", "p:? a<p b<p a~ b~", "a<p b<p p:?", "p:? a<p [ ] b<p"]
)
def test_a_second_claim_is_found(text: str) -> None:
    assert found(text)[0].endswith("has a second claim for device")


def test_the_claim_of_another_entry_is_found() -> None:
    assert found("p:?x,?y a<p:x b<p:y p?a:x p?a:y") == ["pod p names the claim of x for y"]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("p:? a<p b+D1 p?b c+D1", True),  # a claim that a user made
        ("p:? q:? a<p b<q p?b c+D1", True),  # the claim of another pod
        ("p:? a<p p?a c+D1", False),
        ("p:? a<p p?a a~ c+D1", False),  # it is gone since
        ("p:? a<p b+D1 p?b", False),  # the newest claims may be missing
        ("p:? a<p [ b+D1 ] p?b c+D1", False),  # or those in a gap
        ("p:? a<p b+D1 p?b p?a c+D1", False),  # only the last status counts
    ],
)
def test_a_status_that_names_the_claim_of_another_is_found(text: str, *, is_found: bool) -> None:
    assert found(text) == ["pod p names a claim for device that is not its own"] * is_found


def test_without_the_first_list_no_claim_is_known_to_be_missing() -> None:
    body = language.observe("p:? a<p b+D1 p?b c+D1")
    later = [item for item in body if not isinstance(item, records.Listed)]
    answer = claim_judging.result(NAME, later)
    assert answer.verdict is verdicts.Verdict.VALID


def test_each_claim_too_many_is_counted_and_both_are_named() -> None:
    answer = claim_judging.judge(NAME, "p:? a<p b<p c<p")
    assert (answer.violation_count, answer.examined_count) == (2, 3)
    assert answer.violations[1].text == (
        "Pod tests/p (uid uid-p) got claim tests/c (uid uid-c) for entry device at resourceVersion "
        "4, while it had claim tests/a (uid uid-a) from 2."
    )
    assert [item.name for item in answer.violations[1].objects] == ["p", "a", "c"]
    assert answer.reason == f"{SECOND}, and 1 more; generated claims: 3"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("p:? a<p p>n", "device"),
        ("p:? a<p p>n p?a", "device"),  # too late
        ("p:?x,?y a<p:x p?a:x p>n", "y"),
        ("p:?x,?y a<p:x p>n", "x, y"),
    ],
)
def test_a_pod_that_is_bound_without_its_claim_is_found(text: str, missing: str) -> None:
    assert found(text) == [f"pod p was bound without a claim for {missing}"]


def test_a_user_may_bind_a_pod_before_its_claim_is_there() -> None:
    first, *rest = [item for item in _bound_at_once() if isinstance(item, records.Observation)]
    assert b"nodeName" in bytes(first.object)
    answer = claim_judging.result(NAME, [first, *rest])
    assert answer.verdict is verdicts.Verdict.VALID


def _bound_at_once() -> list[records.Body]:
    """A history in which the first version of the pod that is seen has a node."""
    return [
        item
        for item in language.observe("p:? p>n a<p")
        if getattr(item, "resource_version", 0) != 1
    ]


def test_without_a_generated_claim_nothing_was_examined() -> None:
    assert found("a+D1 p:a") == ["not examined"]


# --------------------------------------------------------------------- hazard H8 and others


def _unanswered(uid: str, kind: str = "lose-response") -> records.FaultApplied:
    return records.FaultApplied(
        fault="f", kind=kind, verb="create", resource="resourceclaims", uid=uid, begun_ns=0
    )


@pytest.mark.parametrize(
    ("applied", "count"),
    [
        ([_unanswered("uid-a")], 0),
        ([_unanswered("")], 0),  # it may have been any of them
        ([_unanswered("uid-b")], 1),
        ([_unanswered("uid-a", "delay-events")], 1),
    ],
)
def test_a_creation_without_an_answer_may_be_repeated(
    applied: list[records.FaultApplied], count: int
) -> None:
    answer = claim_judging.judge(NAME, TWICE, applied=applied)
    assert answer.violation_count == count


@pytest.mark.parametrize(
    "kind", ["kill-process", "restart-process", "restart-api-server", "stale-list"]
)
def test_a_controller_that_forgot_what_it_created_is_not_blamed(kind: str) -> None:
    answer = claim_judging.judge(NAME, TWICE, faults=[building.fault(kind)])
    assert answer.verdict is verdicts.Verdict.VALID
