"""Which answers of the API server are writes that must have been observed."""

from typing import Any

import msgspec
import pytest

from harness.checks.evidence import acknowledged_writes
from tests.histories import building, language

SLICES = "resourceslices"
PLAN = msgspec.structs.replace(building.plan(), resources=[language.CLAIMS, language.PODS, SLICES])


@pytest.mark.parametrize(
    ("call", "answer", "is_write"),
    [
        ({}, {}, True),
        ({"verb": "update"}, {}, True),
        ({"verb": "patch", "resource": "pods/status"}, {}, True),
        ({"verb": "delete"}, {}, False),
        ({}, {"outcome": "fail"}, False),
        ({}, {"outcome": "unknown"}, False),
        ({"resource": "leases"}, {}, False),
        ({"namespace": "others"}, {}, False),
        ({"resource": SLICES, "namespace": ""}, {}, True),
        ({"resource": "pods", "namespace": ""}, {}, False),
        ({}, {"uid": ""}, False),
        ({}, {"resource_version": "0x7"}, False),
        ({}, {"resource_version": str(2**62 - 1)}, True),
        ({}, {"resource_version": str(2**62)}, False),
        ({}, {"resource_version": "9" * 5000}, False),
    ],
)
def test_which_answers_are_writes(
    call: dict[str, Any], answer: dict[str, Any], is_write: bool
) -> None:
    begun = msgspec.structs.replace(building.invocation(1, language.CLAIMS, "a"), **call)
    ended = msgspec.structs.replace(building.acknowledgement(1, "uid-a", 7), **answer)
    write = acknowledged_writes.of_call(PLAN, begun, ended)
    assert (write is not None) is is_write


def test_an_answer_is_that_of_the_last_call_of_its_number() -> None:
    calls = [building.invocation(1, language.CLAIMS, name) for name in "ab"]
    answer = building.acknowledgement(1, "uid-b", 7)
    (write,) = acknowledged_writes.of_journal(PLAN, [*calls, answer, answer])
    assert write.call == calls[1]
