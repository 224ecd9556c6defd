"""Devices on nodes: prepared for one claim at a time, as the journals and the API say together."""

from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.holds import hold_columns, hold_history
from harness.checks.nodes import preparations, prepared_devices
from tests.histories import building

VALID, UNKNOWN, INVALID = verdicts.Verdict


def preparation(claim: str, begin: int, end: int | None, *devices: str) -> Any:
    return preparations.Preparation(
        node="worker-0",
        namespace="tests",
        name=claim,
        uid=f"uid-{claim}",
        exclusive=frozenset(devices or ("d",)),
        from_ns=begin,
        until_ns=end,
    )


def hold(claim: str, device: str = "d") -> hold_history.Hold:
    return hold_history.Hold(
        device=device,
        exclusive=True,
        uid=f"uid-{claim}",
        namespace="tests",
        name=claim,
        from_rv=ord(claim),
        from_ts_ns=0,
    )


@pytest.mark.parametrize(
    ("prepared", "verdict", "examined"),
    [
        ([], UNKNOWN, 0),
        ([("a", 0, 9)], UNKNOWN, 0),
        ([("a", 0, 9), ("a", 10, 19)], UNKNOWN, 0),
        ([("a", 0, 9), ("b", 9, 19)], VALID, 1),
        ([("a", 0, 9), ("b", 8, 19)], INVALID, 1),
        ([("a", 0, None), ("b", 8, 9)], INVALID, 1),
        ([("a", 0, 9), ("b", 8, None)], INVALID, 1),
        ([("a", 0, None), ("b", 8, None, "e")], UNKNOWN, 0),
        ([("a", 0, 9), ("c", 3, 4)], UNKNOWN, 1),  # the API knows nothing of c
    ],
)
def test_verdicts(prepared: list[Any], verdict: verdicts.Verdict, examined: int) -> None:
    result = prepared_devices.check(
        [preparation(*item) for item in prepared],
        hold_columns.of([hold("a"), hold("b"), hold("b", "e")]),
    )
    assert (result.verdict, result.examined_count) == (verdict, examined)


def test_a_violation_names_both_claims() -> None:
    result = prepared_devices.check(
        [preparation("b", 3_000_000, 9_000_000), preparation("a", 1_000_000, 6_000_000)],
        hold_columns.of([hold("a"), hold("b")]),
    )
    [violation] = result.violations
    assert result.reason == "d was prepared for b while it was prepared for a"
    assert violation.text == (
        "d was prepared on worker-0 for claim a (uid-a), and 0.002 s later on worker-0 for claim b "
        "(uid-b); the first one was unprepared 0.003 s later."
    )
    assert [item.name for item in violation.objects] == ["a", "b"]
    assert violation.resource_versions == [ord("a"), ord("b")]


def test_the_reason_has_the_first_violation_and_counts_the_others() -> None:
    result = prepared_devices.check(
        [
            *(preparation("a", 4, 9, "d"), preparation("b", 5, 9, "d")),
            *(preparation("a", 0, 3, "e"), preparation("b", 1, 3, "e")),
        ],
        hold_columns.of([hold(claim, device) for claim in "ab" for device in "de"]),
    )
    assert result.reason == "e was prepared for b while it was prepared for a, and 1 more"


def test_the_reason_counts_how_often_a_device_was_prepared_for_another_claim() -> None:
    result = prepared_devices.check(
        [preparation(claim, at, at + 1) for at, claim in enumerate("abba")],
        hold_columns.of([hold("a"), hold("b")]),
    )
    assert result.reason == (
        "2 times a device was prepared for another claim, never for two at once"
    )
    assert prepared_devices.check([], hold_columns.of([])).reason == (
        "no device was prepared for a second claim"
    )


@pytest.mark.parametrize(
    ("settings", "applies"),
    [
        ({}, False),
        ({"driver": {"exclusivity": False}}, False),
        ({"driver": {"exclusivity": True}}, True),
    ],
)
def test_only_a_driver_that_refuses_devices_is_judged(settings: Any, *, applies: bool) -> None:
    assert prepared_devices.applies(building.plan(settings=settings)) is applies
