"""Which contradictions in the lives of objects are found, and what each of them puts in doubt."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks.evidence import contradictions, object_lives
from harness.checks.observed import observations
from harness.history import records

Event = tuple[str, int, dict[str, Any]]
"""Type, resourceVersion, and what is special about the object."""
BORN: Event = ("ADDED", 3, {})


def seen(kind: Any, version: int, fields: dict[str, Any]) -> observations.SeenAny:
    meta = {
        "name": fields.get("name", "p"),
        "namespace": "tests",
        "uid": fields.get("uid", "u"),
        "resourceVersion": str(fields.get("stated", version)),
        "creationTimestamp": fields.get("created", "2026-01-01T00:00:00Z"),
    }
    document = {"kind": fields.get("kind", "Pod"), "metadata": meta}
    return observations.decode(
        records.Observation(
            resource=observations.PODS,
            type=kind,
            resource_version=version,
            ts_ns=version,
            object=msgspec.Raw(
                json.dumps({**document, "status": fields.get("status", {})}).encode()
            ),
        )
    )


def follow(
    events: Sequence[Event | str], *, has_final_list: bool = False
) -> tuple[contradictions.Contradictions, object_lives.ObjectLives]:
    """Follow the events; a text is the purpose of a list that begins. Return what was found."""
    found = contradictions.Contradictions()
    lives = object_lives.ObjectLives(observations.PODS, found)
    for event in events:
        if isinstance(event, str):
            lives.begin_list(event)
        else:
            lives.observe(seen(*event))
    lives.end(has_final_list=has_final_list)
    return found, lives


LAWFUL: dict[str, list[Event | str]] = {
    "from beginning to end": [BORN, ("MODIFIED", 4, {}), ("DELETED", 5, {})],
    "in a list": ["first", ("LISTED", 3, {}), ("MODIFIED", 4, {})],
    "without a kind, as in lists": ["first", ("LISTED", 3, {"kind": ""}), ("MODIFIED", 4, {})],
    "again after a gap": [BORN, "relist", ("LISTED", 3, {}), ("MODIFIED", 4, {})],
    "newer after a gap": [
        BORN,
        "relist",
        ("LISTED", 9, {"status": {"phase": "Failed"}}),
        ("MODIFIED", 10, {}),
    ],
    "gone in a gap": [BORN, "relist", ("ADDED", 9, {"uid": "other"})],
    "in the final list": [BORN, ("MODIFIED", 4, {}), "final", ("FINAL", 4, {})],
    "of two objects": [BORN, ("ADDED", 4, {"uid": "other"}), ("DELETED", 5, {})],
}


@pytest.mark.parametrize("events", LAWFUL.values(), ids=LAWFUL)
def test_a_lawful_life_is_not_disputed(events: list[Event | str]) -> None:
    found, _ = follow(events)
    assert found.is_empty


Doubts = list[tuple[str, int]]
DISPUTED: dict[str, tuple[list[Event | str], str, str, Doubts]] = {
    # The events, the item of the certificate, the text, and what is in doubt from which version.
    "another version in the object": (
        [("ADDED", 3, {"stated": 4})],
        "records",
        "pods tests/p at 3: the object says resourceVersion 4",
        [("u", 0)],
    ),
    "another version in the object, with the kind of the one before": (
        [BORN, ("MODIFIED", 4, {"stated": 5})],
        "records",
        "pods tests/p at 4: the object says resourceVersion 5",
        [("u", 0)],
    ),
    "another kind": (
        [("ADDED", 3, {"kind": "Node"})],
        "records",
        "pods tests/p at 3: the object is a Node",
        [("u", 0)],
    ),
    "another kind, twice": (
        [("ADDED", 3, {"kind": "Node"}), ("MODIFIED", 4, {"kind": "Node"})],
        "records",
        "2, first: pods tests/p at 3: the object is a Node",
        [("u", 0), ("u", 0)],
    ),
    "added twice": (
        [BORN, ("ADDED", 4, {})],
        "lives",
        "pods tests/p at 4: was added, but existed already",
        [("u", 4), ("", 4)],
    ),
    "recorded twice": ([BORN, BORN], "lives", "pods tests/p at 3: was recorded twice", []),
    "added twice with one version": (
        [BORN, ("ADDED", 3, {"status": {"phase": "Running"}})],
        "lives",
        "pods tests/p at 3: was added, but existed already",
        [("u", 3), ("", 3)],
    ),
    "changed without having been added": (
        [("MODIFIED", 4, {})],
        "lives",
        "pods tests/p at 4: was modified without having been added",
        [("u", 4), ("", 4)],
    ),
    "changed after its deletion": (
        [BORN, ("DELETED", 4, {}), ("MODIFIED", 5, {})],
        "lives",
        "pods tests/p at 5: was modified after its deletion",
        [("u", 5), ("", 5)],
    ),
    "changed after its deletion, again": (
        [BORN, ("DELETED", 4, {}), ("DELETED", 5, {}), ("DELETED", 6, {})],
        "lives",
        "2, first: pods tests/p at 5: was deleted after its deletion",
        [("u", 5), ("", 5), ("u", 6), ("", 6)],
    ),
    "deleted without having been added": (
        [("DELETED", 4, {})],
        "lives",
        "pods tests/p at 4: was deleted without having been added",
        [("u", 4), ("", 4)],
    ),
    "changed twice at one version": (
        [BORN, ("MODIFIED", 4, {}), ("MODIFIED", 4, {"status": {"phase": "Failed"}})],
        "lives",
        "pods tests/p at 4: arrived after version 4",
        [("u", 0)],
    ),
    "changed at an older version": (
        [BORN, ("MODIFIED", 5, {}), ("MODIFIED", 4, {})],
        "lives",
        "pods tests/p at 4: arrived after version 5",
        [("u", 0)],
    ),
    "changed at an older version than two before": (
        [BORN, ("MODIFIED", 5, {}), ("MODIFIED", 4, {}), ("MODIFIED", 5, {})],
        "lives",
        "2, first: pods tests/p at 4: arrived after version 5",
        [("u", 0), ("u", 0)],
    ),
    "deleted at the version of its last change": (
        [BORN, ("DELETED", 3, {})],
        "lives",
        "pods tests/p at 3: arrived after version 3",
        [("u", 0)],
    ),
    "older in a list": (
        [BORN, ("MODIFIED", 5, {}), "relist", ("LISTED", 4, {})],
        "lives",
        "pods tests/p at 4: is older in a list than when last seen (5)",
        [("u", 4)],
    ),
    "different in a list": (
        [BORN, "relist", ("LISTED", 3, {"status": {"phase": "Failed"}})],
        "lives",
        "pods tests/p at 3: differs in a list from the same version in the watch",
        [("u", 3)],
    ),
    "changed after it was gone in a gap": (
        [BORN, "relist", "final", ("MODIFIED", 9, {})],
        "lives",
        "pods tests/p at 9: was modified after its deletion",
        [("u", 9), ("", 9)],
    ),
    "a list does not end a life before the gap": (
        [BORN, "first", ("LISTED", 4, {"uid": "other"}), ("ADDED", 9, {})],
        "lives",
        "pods tests/p at 9: was added, but existed already",
        [("u", 9), ("", 9)],
    ),
    "back to life": (
        [BORN, ("DELETED", 4, {}), ("ADDED", 5, {})],
        "lives",
        "1 uids of pods came back",
        [],
    ),
    "back to life in a list": (
        [BORN, ("DELETED", 4, {}), "relist", ("LISTED", 5, {})],
        "lives",
        "1 uids of pods came back",
        [],
    ),
    "another name": (
        [BORN, ("MODIFIED", 4, {"name": "q"})],
        "lives",
        "pods tests/q at 4: has another name or creation time than before",
        [("u", 4), ("", 4)],
    ),
    "another creation time when deleted": (
        [BORN, ("DELETED", 4, {"created": "2027-01-01T00:00:00Z"})],
        "lives",
        "pods tests/p at 4: has another name or creation time than before",
        [("u", 4), ("", 4)],
    ),
    "only in the final list": (
        ["final", ("FINAL", 4, {})],
        "final-objects",
        "pods tests/p at 4: is in the final list, but was not alive",
        [("u", 4)],
    ),
    "newer in the final list": (
        [BORN, "final", ("FINAL", 9, {})],
        "final-objects",
        "pods tests/p at 9: has version 9 in the final list, but 3 was its last",
        [("u", 4)],
    ),
    "older in the final list": (
        [("ADDED", 9, {}), "final", ("FINAL", 3, {})],
        "final-objects",
        "pods tests/p at 3: has version 3 in the final list, but 9 was its last",
        [("u", 4)],
    ),
    "different in the final list": (
        [BORN, "final", ("FINAL", 3, {"status": {"phase": "Failed"}})],
        "final-objects",
        "pods tests/p at 3: differs in the final list from the same version before",
        [("u", 3)],
    ),
}


@pytest.mark.parametrize(("events", "item", "text", "doubts"), DISPUTED.values(), ids=DISPUTED)
def test_a_contradiction_is_named_and_puts_in_doubt_what_rests_on_it(
    events: list[Event | str], item: str, text: str, doubts: Doubts
) -> None:
    found, _ = follow(events)
    assert found.answer(item) == text
    assert [(doubt.uid, doubt.from_rv) for doubt in found.doubts] == doubts
    assert {doubt.resource for doubt in found.doubts} <= {"pods"}
    others = {"records", "lives", "final-objects"} - {item}
    assert not any(found.count(other) for other in others)


def test_an_object_that_misses_in_the_final_list_is_in_doubt_after_its_last_version() -> None:
    events: list[Event | str] = [("ADDED", 3, {"uid": name}) for name in "cfbdae"]
    assert follow(events)[0].is_empty
    found, lives = follow([*events, "final", ("FINAL", 3, {"uid": "b"})], has_final_list=True)
    assert found.answer("final-objects") == (
        "5, first: pods with uid a were never deleted, but are missing in the final list"
    )
    assert [(doubt.uid, doubt.from_rv) for doubt in found.doubts] == [(name, 4) for name in "acdef"]
    assert (lives.births, lives.finals) == (6, 1)


def test_an_older_version_does_not_replace_a_newer_one() -> None:
    found, _ = follow([BORN, ("MODIFIED", 5, {}), ("MODIFIED", 4, {}), "final", ("FINAL", 5, {})])
    assert found.count("lives") == 1
    assert found.count("final-objects") == 0


def test_the_same_version_again_does_not_replace_the_one_before() -> None:
    changed = ("LISTED", 3, {"status": {"phase": "Failed"}})
    found, _ = follow([BORN, "relist", changed, "final", ("FINAL", 3, {})])
    assert found.count("lives") == 1
    assert found.count("final-objects") == 0
