"""Writes that a killed API server committed and never logged."""

import datetime
from typing import Any

import msgspec
import pytest

from harness.checks.holds import hold_history
from harness.checks.witness import audit_comparison, audit_events, audit_history, witnessed_writes
from harness.history import records
from tests.histories import audit_logs, language

TEXT = "a+D1 b+D2 c+D3 d+D4 e+D5 f+D6"
KILL_S = 3.5
"""Between the third and the fourth commit, which come once in a second."""


def seen(late_s: float = 0) -> list[records.Body]:
    """The observations, each at its revision in seconds, on another clock than the log's; all but
    the first are late.
    """
    return [
        msgspec.structs.replace(
            item,
            ts_ns=_second(item.resource_version + (late_s if item.resource_version > 1 else 0)),
        )
        if isinstance(item, records.Observation)
        else item
        for item in language.observe(TEXT)
    ]


def told(but: int) -> list[dict[str, Any]]:
    """The log without the write of one revision."""
    found = audit_logs.events(TEXT)
    for event in found:
        second = int(event["responseObject"]["metadata"]["resourceVersion"])
        event["requestReceivedTimestamp"] = _time(second - 0.01)
        event["stageTimestamp"] = _time(second)
    return [
        event
        for event in found
        if event["responseObject"]["metadata"]["resourceVersion"] != str(but)
    ]


def _second(number: float) -> int:
    return int((number + 1000) * 1e9)


def _time(second: float) -> str:
    time = datetime.datetime(2026, 11, 26, 7, tzinfo=datetime.UTC)
    text = (time + datetime.timedelta(seconds=second)).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def compare(
    log: list[dict[str, Any]], *kills: float, took_s: float = 0, late_s: float = 0
) -> audit_comparison.Comparison:
    audited = audit_history.AuditHistory(language.NAMESPACE)
    for event in log:
        audited.add(audit_events.decode(audit_logs.line(event)))
    watched = witnessed_writes.WatchedWrites(audited.writes)
    folded = hold_history.fold(seen(late_s), watched)
    holds = [(hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in folded.holds]
    ends = [(_second(item), _second(item + took_s)) for item in kills]
    return audit_comparison.compare(audited, watched, holds, ends=ends)


@pytest.mark.parametrize("lost", [3, 4])
def test_a_write_is_lost_in_the_second_before_a_kill(lost: int) -> None:
    found = compare(told(lost), KILL_S if lost == 3 else 4.5)
    assert (found.difference_count, found.lost) == (0, 1)


def test_what_was_asked_just_before_the_kill_is_not_after_it() -> None:
    """A recorder that is late makes the log's times seem later than they are."""
    found = compare(told(4), 3.0, late_s=0.05)
    assert (found.difference_count, found.lost) == (0, 1)


@pytest.mark.parametrize("lost", [1, 2, 5, 6])
def test_a_write_elsewhere_must_be_in_the_log(lost: int) -> None:
    found = compare(told(lost), KILL_S)
    assert found.difference_count
    assert not found.lost


def test_without_a_kill_nothing_is_lost() -> None:
    assert compare(told(3)).difference_count


def test_a_log_that_ends_with_the_kill_bounds_nothing() -> None:
    log = told(6)
    assert compare(log, 5.5).difference_count


def test_a_write_in_a_window_that_the_log_has_otherwise_is_a_difference() -> None:
    log = told(0)
    log[2]["responseObject"]["status"] = {}
    found = compare(log, KILL_S)
    assert found.difference_count
    assert not found.lost


def test_a_server_that_says_what_it_committed_loses_nothing() -> None:
    restored = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete"}
    restored["annotations"] = {audit_events.RESTORED: "3"}  # type: ignore[assignment]
    log = told(3)
    assert compare([*log[:2], restored, *log[2:]], KILL_S).difference_count


def test_a_log_without_times_bounds_nothing() -> None:
    log = told(3)
    for event in log:
        del event["stageTimestamp"]
    assert compare(log, KILL_S).difference_count


@pytest.mark.parametrize("lost", [3, 4, 5])
def test_what_is_written_while_the_server_is_being_ended_may_be_lost(lost: int) -> None:
    """Some of that is logged, and some is not; all that was asked afterwards must be there."""
    found = compare(told(lost), 3.5, took_s=1.9)
    assert (found.difference_count, found.lost) == (0, 1)
    assert compare(told(2), 3.5, took_s=1.9).difference_count
