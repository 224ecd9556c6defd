"""Which faults are near enough to explain a double allocation, to the nanosecond and the version.

Claim a gets D1 at its resourceVersion, and claim b at the last one; see `tests.histories.language`.
"""

import re
from typing import Any

import msgspec
import pytest

from harness.checks import device_exclusivity, verdicts
from harness.checks.faults import fault_attribution, fault_effects, fault_records
from harness.checks.holds import hold_history
from tests.histories import language
from tests.histories.words import fault_words
from tests.support import text_tables

NONE = "no fault explains it"
NEAR, AGAIN = fault_effects.NEAR_NS, fault_effects.WATCH_AGAIN_NS
at = language.at


def _last(text: str, **change: Any) -> verdicts.DoubleAllocation:
    """Return the last violation of a history, of whose first fault some fields are changed."""
    folded = hold_history.fold(language.observe(text))
    first, *others = fault_words.applications(text)
    found = fault_records.FaultRecords(
        applications=[msgspec.structs.replace(first, **change), *others], exists=True
    )
    attributor = fault_attribution.Attributor(found, folded.holds)
    result = device_exclusivity.check(folded, lambda _: None)
    results = [attributor.review(device_exclusivity.CHECK, result)]
    return verdicts.double_allocations(results)[-1]


def _change(text: str) -> dict[str, int]:
    """The fields of a fault, as in fault_edges.txt."""
    change = {}
    for name, value in (item.split() for item in text.split(", ")):
        if name == "version":
            change["resource_version"] = int(value)
        else:
            change[f"{name}_ns"] = _time(value)
    return change


def _time(text: str) -> int:
    """The time of a resourceVersion, and what is added to it."""
    rv, *more = re.findall(r"[-+]?\w+", text)
    spans = {"-NEAR": -NEAR, "-AGAIN": -AGAIN, "-1": -1, "+1": 1}
    return at(int(rv)) + sum(spans[item] for item in more)


@pytest.mark.parametrize(
    ("text", "named", "not_named"), text_tables.cases(__file__, "fault_edges.txt")
)
def test_a_fault_at_the_edge(text: str, named: str, not_named: str) -> None:
    assert _last(text, **_change(named)).faults
    assert _last(text, **_change(not_named)).attribution == NONE


@pytest.mark.parametrize(
    ("text", "change"),
    [
        pytest.param("a+D2 /lose-response:a a=D1 b+D1", {"resource_version": 0}, id="moved-later"),
        pytest.param("a+D2 a-D2 a+D3 /reject:a a-D3 a+D1 b+D1", {}, id="of-an-earlier-hold"),
        pytest.param("a+D2 /reallocate-claims:a a-D2 a+D1 b+D1", {}, id="moved-to-another"),
        pytest.param("b+D2 /reject:b b-D2 a+D1 b+D1", {}, id="before-the-second-was-free"),
        pytest.param("b= /lose-response:b a+D1 b+D1", {}, id="response-to-the-second"),
        pytest.param("b= a+D1 /lose-response:b b+D1", {}, id="late-response-to-the-second"),
    ],
)
def test_a_fault_of_another_write_explains_nothing(text: str, change: dict[str, int]) -> None:
    assert _last(text, **change).attribution == NONE


def test_a_claim_that_another_client_moved() -> None:
    assert _last("a+D2 a=D1 /reallocate-claims:a b+D1").attribution.startswith(
        "another client moved a to this device (reallocate-claims); "
    )


def test_a_process_that_ended_while_the_first_write_was_under_way() -> None:
    found = _last("a= . /kill-process:=scheduler . /delay-request:a<1 a+D1 b+D1").faults
    assert [effect.fault for effect in found] == ["delay-request", "kill-process"]


def test_of_two_late_events_the_newer_one_is_named() -> None:
    said = _last("c= /delay-events:c>900 a+D1 /delay-events:a>900 b+D1").attribution
    assert said.startswith("the event of the allocation of a reached the scheduler 898 ms late")


def test_an_event_that_arrives_with_the_second_allocation_was_not_unseen() -> None:
    text = "a+D1 /delay-events:a . b+D1"
    assert _last(text, ended_ns=at(3) + 1).attribution.endswith("could not know of it")
    assert _last(text, ended_ns=at(3)).attribution.endswith("b was allocated 2 versions after a")


def test_the_last_release_makes_the_device_look_free() -> None:
    said = _last("b+D1 c+D1 a+D1 b-D1 c-D1 d+D1 /reject:z").attribution
    assert said.startswith("it follows from an earlier one: c had the device too, and its release")


def test_a_second_is_told_in_seconds() -> None:
    said = _last("a+D1 /delay-response:a>1001 b+D1").attribution
    assert "arrived 1.0 s late" in said
