"""Faults without a server: which requests they match, how often, and what is recorded."""

import json
import random
from typing import Any

import msgspec
import pytest

from harness.faults import injection, matching
from tests.support import faulty_servers, text_tables

BIND = matching.Facts(
    verb="create",
    path="/api/v1/namespaces/ns/pods/pod-1/binding",
    user_agent="scheduler/1.2 (linux)",
    client="scheduler-2",
    resource="pods",
    subresource="binding",
    namespace="ns",
    name="pod-1",
    resource_version=7,
)


@pytest.fixture
def clock() -> faulty_servers.Clock:
    return faulty_servers.Clock()


@pytest.fixture
def registry(clock: faulty_servers.Clock) -> injection.Faults:
    return injection.Faults(now=clock.now, call_later=clock.call_later)


def spec(**given: Any) -> injection.FaultSpec:
    document = {"point": "request", "action": {"type": "block"}} | given
    return msgspec.json.decode(msgspec.json.encode(document), type=injection.FaultSpec)


def cases(*parts: str) -> list[Any]:
    found = text_tables.rows(__file__, "test_injection.txt")
    return [pytest.param(part, *columns[1:], *[""] * (3 - len(columns)), id=columns[0])
            for part, columns in found if part in parts]  # fmt: skip


@pytest.mark.parametrize(("does", "match", "facts"), cases("matches", "passes over"))
def test_matching(registry: injection.Faults, does: str, match: str, facts: str) -> None:
    registry.add(spec(match=json.loads(match)))
    hit = msgspec.structs.replace(BIND, **json.loads(facts or "{}"))
    assert (registry.strike("request", hit) is not None) == (does == "matches")
    assert registry.strike("response", hit) is None


@pytest.mark.parametrize(
    ("skip", "every", "count", "expected"),
    [
        (0, 1, None, [1, 2, 3, 4, 5, 6, 7]),
        (3, 1, None, [4, 5, 6, 7]),
        (0, 3, None, [3, 6]),
        (1, 2, None, [3, 5, 7]),
        (1, 2, 1, [3]),
    ],
)
def test_matches_are_skipped_and_taken_in_turn(
    registry: injection.Faults, skip: int, every: int, count: int | None, expected: list[int]
) -> None:
    registry.add(spec(skip=skip, every=every, count=count))
    struck = [number for number in range(1, 8) if registry.strike("request", BIND)]
    assert struck == expected


@pytest.mark.parametrize("chance", [0.3, 0.9])
def test_the_dice_follow_the_seed_and_fall_for_what_could_be_hit_only(
    registry: injection.Faults, chance: float
) -> None:
    match = {"verbs": ["create"]}
    fault = registry.add(spec(match=match, probability=chance, seed=5, skip=3, every=2))
    dice, other, found = random.Random(5), msgspec.structs.replace(BIND, verb="get"), list[bool]()
    expected = [number % 2 == 1 and dice.random() < chance for number in range(100)]
    for _ in range(103):
        assert registry.strike("request", other) is None
        assert registry.strike("request", BIND, is_possible=lambda _: False) is None
        found.append(registry.strike("request", BIND) is not None)
    assert found == [False] * 3 + expected
    assert fault.applied_count == sum(expected) > 10


def test_a_hold_of_a_fault_that_was_removed_meanwhile_does_not_wait_for_ever(
    registry: injection.Faults,
) -> None:
    fault = registry.add(spec())
    applied = registry.strike("request", BIND)
    assert applied is not None
    registry.remove(fault.name)
    resumed: list[int] = []
    registry.wait(applied, lambda: resumed.append(1))
    assert resumed == [1]


@pytest.mark.parametrize(("what", "given", "text"), cases("is a fault", "is no fault"))
def test_what_is_a_fault(what: str, given: str, text: str) -> None:
    if what == "is a fault":
        spec(**json.loads(given))
        return
    with pytest.raises(msgspec.ValidationError) as caught:
        spec(**json.loads(given))
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("specs", "wanted"),
    [
        ([], []),
        ([{"match": {"clients": ["kubelet"]}}], ["kubelet"]),
        ([{"match": {"clients": ["kubelet"]}}, {"match": {"clients": ["recorder"]}}], None),
        ([{"match": {"clients": ["kubelet"]}}, {}], ["kubelet", "recorder", ""]),
        ([{"point": "response"}], []),
    ],
)
def test_only_clients_that_a_fault_may_match_are_examined(
    registry: injection.Faults, specs: list[dict[str, Any]], wanted: list[str] | None
) -> None:
    added = [registry.add(spec(**given)) for given in specs]
    expected = ["kubelet", "recorder"] if wanted is None else wanted
    known = ["kubelet", "recorder", ""]
    assert [client for client in known if registry.wants("request", client)] == expected
    assert registry.wants("request") == bool(expected)
    assert not registry.has_event_faults
    event = registry.add(spec(point="event"))
    assert registry.has_event_faults
    for fault in [event, *added]:
        registry.remove(fault.name)
        assert not registry.has_event_faults
    assert not registry.wants("request")


def test_the_oldest_applications_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "APPLIED_MAX", 3)
    registry = injection.Faults(call_later=lambda *_: None)
    registry.add(spec(action={"type": "lose"}))
    assert registry.last_sequence == 0
    for _ in range(5):
        registry.strike("request", BIND)
    assert [item.sequence for item in registry.applied] == [3, 4, 5]
    assert registry.last_sequence == 5
