"""The audit log and the watch of a history agree; what one of them lacks or changes is named."""

import json
import os
import random
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from harness.checks.holds import hold_history
from harness.checks.witness import (
    audit_comparison,
    audit_events,
    audit_history,
    hidden_writes,
    witnessed_writes,
)
from harness.history import records
from tests.histories import audit_logs, language
from tests.support import text_tables

HISTORIES = int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000")) // 50
TEXT = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1 a~"


def compare(
    seen: Iterable[records.Body], told: Iterable[dict[str, Any]], *, holds: Any = None
) -> audit_comparison.Comparison:
    """Fold both sides by their own folds and compare them; `holds`: instead of the watch's."""
    events = (audit_events.decode(audit_logs.line(event)) for event in told)
    audited = audit_history.fold(events, namespace=language.NAMESPACE)
    watched = witnessed_writes.WatchedWrites(audited.writes)
    folded = hold_history.fold(seen, watched)
    known = [(hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in folded.holds]
    return audit_comparison.compare(audited, watched, known if holds is None else holds)


def texts(found: audit_comparison.Comparison) -> str:
    """All differences in words; the count is exact."""
    assert len(found.differences) == min(found.difference_count, audit_comparison.KEPT_MAX)
    return "\n".join(item.text for item in found.differences)


def random_text(stream: random.Random) -> str:
    """A history of a few claims and pods, with gaps now and then."""
    held: dict[str, set[str]] = {}
    words: list[str] = []
    for _ in range(stream.randint(2, 14)):
        name, device = stream.choice("abc"), stream.choice(["D1", "D2", "D3"])
        mine = held.get(name)
        options = [f"{name}+{device}", f"{name}={device}", f"p{name}*", ".3"]
        if mine is not None:
            options += [f"{name}~", f"{name}^p", f"{name}="]
            options += [f"{name}-{one}" for one in sorted(mine)]
        word = stream.choice(options)
        words.append(word)
        if word == f"{name}~":
            del held[name]
        elif word[1] in "+=-^":
            known = held.setdefault(name, set())
            if word[1] == "=":
                known.clear()
            if word[1] == "-":
                known.remove(word[2:])
            elif word[1] in "+=" and word[2:]:
                known.add(word[2:])
    return " ".join(words)


def test_random_histories_agree_and_each_lost_write_is_named() -> None:
    stream = random.Random(14)
    for _ in range(HISTORIES):
        text = random_text(stream)
        seen, told = language.observe(text), audit_logs.events(text)
        found = compare(seen, stream.sample(told, len(told)))
        assert not found.difference_count, (text, texts(found))
        assert found.writes == found.confirmed == len(told)
        for index, event in enumerate(told):
            lost = compare(seen, [*told[:index], *told[index + 1 :]])
            name = event["responseObject"]["metadata"]["name"]
            assert f"{language.NAMESPACE}/{name}" in texts(lost), (text, event)
            assert "no such write" in texts(lost)


def test_each_lost_or_changed_observation_of_random_histories_is_named() -> None:
    stream = random.Random(41)
    for _ in range(HISTORIES):
        text = random_text(stream)
        seen, told = language.observe(text), audit_logs.events(text)
        if not told:
            continue
        events = [
            index
            for index, item in enumerate(seen)
            if isinstance(item, records.Observation) and item.type != "FINAL"
        ]
        index = stream.choice(events)
        observation = seen[index]
        assert isinstance(observation, records.Observation)
        name = json.loads(bytes(observation.object))["metadata"]["name"]
        lost = compare([*seen[:index], *seen[index + 1 :]], told)
        assert (
            f"/{name} at revision {observation.resource_version}: the watch saw nothing"
            in texts(lost)
        ), text
        changed = compare([*seen[:index], _changed(observation, stream), *seen[index + 1 :]], told)
        assert f"/{name} at revision {observation.resource_version}" in texts(changed), text


def _changed(item: records.Observation, stream: random.Random) -> records.Observation:
    value = json.loads(bytes(item.object))
    match stream.choice(["status", "uid"]):
        case "status":
            result = {"request": "r", "driver": "d", "pool": "p", "device": "D9"}
            value["status"] = {"allocation": {"devices": {"results": [result]}}}
        case _:
            value["metadata"]["uid"] = "another"
    return msgspec.structs.replace(item, object=msgspec.Raw(json.dumps(value).encode()))


@pytest.mark.parametrize(
    ("seen", "told", "expected"), text_tables.cases(__file__, "compared_histories.txt")
)
def test_both_sides_are_in_the_words_of_a_difference(seen: str, told: str, expected: str) -> None:
    found = texts(compare(language.observe(seen), audit_logs.events(told))).splitlines()
    fragments = expected.split(" ; ") if expected else []
    assert len(found) == len(fragments), found
    assert all(part in text for part, text in zip(fragments, found, strict=True)), found


def _listed_at(version: int, text: str) -> list[records.Body]:
    """The records of a history whose lists are of a later revision."""
    return [
        msgspec.structs.replace(item, resource_version=version)
        if isinstance(item, records.Listed)
        else item
        for item in language.observe(text)
    ]


def test_what_was_before_the_first_list_and_elsewhere_is_not_compared() -> None:
    before = audit_logs.events("a+D1 b+D2 b~ a~")
    assert not compare(_listed_at(5, ".4"), before).difference_count
    assert not compare(_listed_at(2, ".2"), audit_logs.events("a+D1 a~")).difference_count
    other = audit_logs.events("x+D1")
    other[0]["responseObject"]["metadata"]["namespace"] = "other"
    assert not compare(language.observe(TEXT), [*audit_logs.events(TEXT), *other]).difference_count


def _without(text: str, unwanted: Callable[[records.Body], bool]) -> list[records.Body]:
    return [item for item in language.observe(text) if not unwanted(item)]


def test_the_last_revision_before_a_gap_must_have_been_seen() -> None:
    seen = _without("a+D1 a~ [ . ]", lambda item: getattr(item, "type", "") == "DELETED")
    assert texts(compare(seen, audit_logs.events("a+D1 a~"))) == (
        "claim tests/a at revision 2: the watch saw nothing, the audit log has its deletion"
    )


def test_without_a_final_list_no_hold_is_compared() -> None:
    seen = _without("a+D1 b+D2", lambda item: getattr(item, "purpose", "") == "final")
    found = compare(seen, audit_logs.events("a+D1 b+D2 c+D3"))
    assert (found.difference_count, found.holds, found.writes) == (0, 0, 2)


@pytest.mark.parametrize(
    ("text", "holds", "said"),
    [
        (
            "a+D1 a-D1",
            [(1, None)],
            "held from 1 to the end, the audit log has it held from 1 until 2",
        ),
        (
            "a+D1 . a-D1 .",
            [(1, 4)],
            "held from 1 until 4, the audit log has it held from 1 until 3",
        ),
        ("a+D1 a-D1 a+D1 . a-D1", [(1, 2), (3, 4)], "from 3 until 4, the audit log has it held"),
    ],
)
def test_a_fold_of_the_watch_that_is_wrong_is_noticed(
    text: str, holds: list[tuple[int, int | None]], said: str
) -> None:
    device = language.device_id("D1")
    given = [("uid-a", device, *span) for span in holds]
    found = compare(language.observe(text), audit_logs.events(text), holds=given)
    assert found.writes == found.confirmed
    assert said in texts(found)


def test_what_changes_nothing_is_answered_twice_and_contradictions_are_named() -> None:
    told, seen = audit_logs.events(TEXT), language.observe(TEXT)
    assert not compare(seen, [*told, *told]).difference_count
    other = json.loads(json.dumps(told[3]))
    other["responseObject"]["status"] = {}
    assert "has two writes of this revision" in texts(compare(seen, [*told, other]))


def test_writes_that_a_killed_server_logged_and_never_committed_are_forgotten() -> None:
    told, seen = audit_logs.events(TEXT), language.observe(TEXT)
    lost = audit_logs.events("a+D1 a^p p* x+D9 x^y")[3:]
    again: Any = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete"}
    again["annotations"] = {audit_events.RESTORED: "3"}
    assert not compare(seen, [*told[:3], *lost, again, *told[3:]]).difference_count
    assert compare(seen, [*told[:3], *lost, *told[3:]]).difference_count


def test_an_unknown_version_of_the_api_is_compared_by_its_devices() -> None:
    told, seen = audit_logs.events("a+D1 a-D1"), language.observe("a+D1 a-D1")
    for event in told:
        event["responseObject"] |= {"apiVersion": "resource.k8s.io/v1alpha2", "spec": {"x": 1}}
    assert not compare(seen, told).difference_count
    told[0]["responseObject"]["status"] = {}
    assert "with another status" in texts(compare(seen, told))


def test_only_two_different_states_dispute_an_observation() -> None:
    told = audit_logs.events(TEXT)
    assert compare(language.observe(TEXT.replace("b+D2", "b+D3")), told).is_disputed
    lost = compare(language.observe(TEXT), told[1:])
    assert lost.difference_count
    assert not lost.is_disputed


def test_a_deletion_that_is_an_update_in_the_log_is_named() -> None:
    told = audit_logs.events("a+D1 a~")
    told[1] |= {"verb": "update"}
    found = texts(compare(language.observe("a+D1 a~"), told))
    assert "at revision 2: the watch saw it with gpu.example/pool/D1 (DELETED)" in found


def test_the_first_differences_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_comparison, "KEPT_MAX", 4)
    found = audit_comparison.Comparison()
    found.note(
        hidden_writes.Difference(what=str(number), watch="", audit="") for number in range(9)
    )
    assert (found.difference_count, [item.what for item in found.differences]) == (9, [*"0123"])
