"""No version of a claim is allocated without the finalizer."""

import json

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claims import allocation_finalizers
from harness.checks.observed import claim_versions
from harness.history import records
from tests.histories import claim_judging, language

NAME = allocation_finalizers.CHECK.name
found = claim_judging.judge_by(NAME)
BARE = "claim a was allocated without its finalizer"


@pytest.mark.parametrize("text", ["a+D1 a-D1 a~", "a= a~ a+D1!", "a+D1 a! a= a~"])
def test_a_protected_allocation_is_fine(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text", ["a|D1", "a= a|D1 a-D1", "b+D1 a|D2", "[ a|D1 ]", "a+D1 a|D1 a+D1", "a|D1 a~"]
)
def test_an_allocation_without_it_is_found_once_for_each_claim(text: str) -> None:
    assert found(text) == [BARE]


def test_the_versions_are_counted_and_a_deletion_is_told() -> None:
    answer = claim_judging.judge(NAME, "a|D1 a^p . a~ b|D2")
    first, second = (item.text for item in answer.violations)
    assert first == (
        "Claim tests/a (uid uid-a) was allocated without the finalizer "
        "resource.kubernetes.io/delete-protection in 3 versions, from resourceVersion 1 to 4, and "
        "was deleted with its allocation."
    )
    assert second.endswith(" in 1 version, from resourceVersion 5 to 5.")
    assert answer.reason == f"{BARE}, and 1 more; versions of allocated claims: 4"


def test_versions_of_several_claims_may_take_turns() -> None:
    assert found("a|D1 b|D2 a^p b^p") == [BARE, BARE.replace("claim a", "claim b")]


def test_without_an_allocation_nothing_was_examined() -> None:
    assert found("a= p*") == ["not examined"]


def _extended(text: str) -> verdicts.Answer:
    def marked(record: records.Body) -> records.Body:
        if not isinstance(record, records.Observation):
            return record
        document = json.loads(bytes(record.object))
        document["metadata"]["annotations"] = {claim_versions.EXTENDED: "true"}
        return msgspec.structs.replace(record, object=msgspec.Raw(json.dumps(document).encode()))

    return claim_judging.answers([marked(item) for item in language.observe(text)])[NAME]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a= a|D1", 1),
        ("a= a+D1 a|D1 a~", 0),  # its scheduler gives it up
        ("a= a+D1 [ a|D1 ] a~", 0),  # its allocation was not seen to be new
        ("a= a+D1 a= a|D1 a~", 1),
    ],
)
def test_of_a_schedulers_own_claim_only_the_allocation_is_examined(text: str, count: int) -> None:
    answer = _extended(text)
    assert isinstance(answer, verdicts.CheckResult)
    assert answer.violation_count == count


LOST = (
    "the API server removed claim a although its finalizer was stored "
    "(H20, a finalizer that a deletion does not see)"
)


def test_a_removal_in_spite_of_the_finalizer_is_the_api_servers() -> None:
    answer = claim_judging.judge(NAME, "p:a a= a+D1 a^p a~ p>n")
    [violation] = answer.violations
    assert violation.summary == LOST
    assert violation.text == (
        "Claim tests/a (uid uid-a) had the finalizer resource.kubernetes.io/delete-protection from "
        "resourceVersion 3, and the API server removed it at 5, without waiting until the finalizer "
        "was taken away."
    )
    assert [item.kind for item in violation.objects] == ["ResourceClaim"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a+D1 a~", [LOST]),
        ("[ a+D1 ] a~", [LOST]),
        ("a+D1 [ a~ ]", []),  # not seen
        ("a+D1 a! a~", []),  # its finalizer was taken away
        ("a= a~ a+D1", []),  # it had none
    ],
)
def test_only_an_object_that_nobody_released_is_removed_in_spite(
    text: str, expected: list[str]
) -> None:
    assert found(text) == expected
