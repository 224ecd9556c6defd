"""The events that pods in flight miss."""

import random

import pytest

from harness.subject.queueing import cluster_events, queue_parts


def event(name: str) -> cluster_events.ClusterEvent:
    return cluster_events.ClusterEvent("", name)


def ended(known: queue_parts.InFlightEvents, uid: str) -> list[str]:
    """End a pod's flight; return what it has missed."""
    missed = known.missed(uid)
    known.end(uid)
    return [item.label for item in missed]


def test_agrees_with_a_list_for_each_pod_and_keeps_no_more() -> None:
    stream, known = random.Random(3), queue_parts.InFlightEvents()
    expected: dict[str, list[str]] = {}
    for number in range(5000):
        uid = stream.choice("abcd")
        match stream.choice(["begin", "add", "end"]):
            case "begin":
                known.begin(uid)
                expected[uid] = []
            case "add":
                known.add(event(str(number)))
                for listed in expected.values():
                    listed.append(str(number))
            case _:
                assert ended(known, uid) == expected.pop(uid, [])
        assert len(known._events) == max(map(len, expected.values()), default=0)


def test_a_pod_that_has_missed_too_many_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_parts, "EVENTS_MAX", 2)
    known = queue_parts.InFlightEvents()
    known.begin("a")
    known.add(event("x"))
    known.begin("b")
    known.add(event("y"))
    known.add(event("z"))
    assert ended(known, "a") == ["UnschedulableTimeout"]
    assert ended(known, "b") == ["y", "z"]
