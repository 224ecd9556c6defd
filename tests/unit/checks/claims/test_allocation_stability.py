"""An allocation changes only through nil."""

import json

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claims import allocation_stability
from harness.history import records
from tests.histories import claim_judging, language

NAME = allocation_stability.CHECK.name
found = claim_judging.judge_by(NAME)
REPLACED = "the allocation of claim a was replaced"


@pytest.mark.parametrize(
    "text",
    [
        "a= a+D1 a= a+D2",  # freed in between
        "a+D1 a^p a/p a~ a+D2",  # another claim of that name
        "a+D1 b+D2",
        "a+D1 [ a= a+D2 ]",  # freed within a gap, or not: not known
        "a+D1 [ a=D2",
        "a+D1!,D2% a^p",
    ],
)
def test_what_is_freed_first_may_change(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "a+D1 a=D2",
        "a+D1 a+D2",  # one more
        "a+D1,D2 a-D2",  # one less
        "a+D1 a=D1!",  # with admin access
        "a+D1 a=D1%",  # a share of it
        "a+D1 [ ] a=D2",
        "a+D1 a! a=D2",  # while it is being deleted
    ],
)
def test_what_is_replaced_in_one_write_is_found(text: str) -> None:
    assert found(text) == [REPLACED]


def test_the_first_the_worst_and_the_last_are_told_and_all_are_counted() -> None:
    text = "a+D1 " + " ".join(f"a=D{number}" for number in range(2, 32)) + " a=D1,D2,D3 a=D1"
    answer = claim_judging.judge(NAME, text)
    assert (answer.violation_count, len(answer.violations), len(answer.others)) == (32, 22, 10)
    shown = [item.resource_versions[0] for item in answer.violations]
    assert shown == [*range(2, 22), 32, 33]
    assert answer.violations[-2].text == (
        "Claim tests/a (uid uid-a) was allocated gpu.example/pool/D31, and at resourceVersion 32 "
        "gpu.example/pool/D1, gpu.example/pool/D2, gpu.example/pool/D3, without having been freed."
    )
    assert answer.reason == f"{REPLACED}, and 31 more; changes of allocations: 33"


@pytest.mark.parametrize("worst", ["a=D1,D2,D3 a=D4", "a=D1 a=D2,D3,D4", "a=D1,D2 a=D3,D4"])
def test_the_more_results_differ_the_worse(worst: str) -> None:
    moves = " ".join(f"a=D{5 + number % 2}" for number in range(22))
    answer = claim_judging.judge(NAME, f"{moves} a= {worst} a= a=D5 a=D6")
    assert len(answer.violations) == 22
    assert answer.violations[-2].resource_versions == [25]


def test_shares_and_admin_access_are_told() -> None:
    answer = claim_judging.judge(NAME, "a+D1% a=D1!")
    assert (
        "allocated gpu.example/pool/D1 (share share), and at resourceVersion 2 "
        "gpu.example/pool/D1 with admin access, without"
    ) in answer.violations[0].text


def test_without_an_allocation_nothing_was_examined() -> None:
    answer = claim_judging.answers(language.observe("a= p*"))[NAME]
    assert isinstance(answer, verdicts.NotExamined)
    assert answer.reason == "no changes of allocations were observed, so nothing was examined"


def test_the_node_selector_is_part_of_the_allocation() -> None:
    def on_node(record: records.Body, node: str) -> records.Body:
        assert isinstance(record, records.Observation)
        document = json.loads(bytes(record.object))
        document["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"node": node}]}
        return msgspec.structs.replace(record, object=msgspec.Raw(json.dumps(document).encode()))

    body = language.observe("a+D1 a^p")
    changed = [*body[:2], on_node(body[2], "n"), on_node(body[3], "m")]
    answer = claim_judging.result(NAME, changed)
    assert "the same devices with other details" in answer.violations[0].text
