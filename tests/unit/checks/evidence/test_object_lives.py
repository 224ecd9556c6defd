"""Which contradictions in the lives of objects are found."""

from typing import Any

import pytest

from harness.checks.evidence import contradictions, object_lives
from harness.checks.observed import folders, observations
from tests.histories import language
from tests.support import text_tables

ITEMS = ("records", "lives", "final-objects")


def seen(
    kind: Any, version: int, fields: dict[str, str], resource: str = observations.PODS
) -> observations.SeenAny:
    assert fields.keys() <= {"name", "uid", "stated", "created", "phase", "kind"}, fields
    meta = {
        "name": fields.get("name", "p"),
        "namespace": "tests",
        "uid": fields.get("uid", "u"),
        "resourceVersion": str(fields.get("stated", version)),
        "creationTimestamp": fields.get("created", "2026-01-01T00:00:00Z"),
    }
    status = {"phase": fields["phase"]} if "phase" in fields else {}
    own = object_lives._KINDS[resource]
    document = {"kind": fields.get("kind", own), "metadata": meta, "status": status}
    if resource == observations.SLICES:
        document["spec"] = {"driver": "d", "pool": {"name": "n"}}
    return observations.decode(
        language.observation(resource, version, document, kind, ts_ns=version)
    )


def follow(
    events: str, *, has_final_list: bool = False, resource: str = observations.PODS
) -> tuple[contradictions.Contradictions, object_lives.ObjectLives]:
    """Follow the events, as in object_lives.txt; return what was found."""
    found = contradictions.Contradictions()
    lives = object_lives.ObjectLives(resource, found)
    for event in events.split():
        kind, _, rest = event.partition(":")
        version, *fields = rest.split(",")
        if version:
            fields_of = dict(item.split("=") for item in fields)
            batch = folders.Batch([seen(kind, int(version), fields_of, resource)])
            lives.observe_all(batch)
        else:
            purpose, _, certain = kind.rstrip("!").partition("@")
            is_after_gap = kind.endswith("!")
            lives.begin_list(purpose, certain_rv=int(certain or 0), is_after_gap=is_after_gap)
    lives.end(has_final_list=has_final_list)
    return found, lives


@pytest.mark.parametrize("events", text_tables.cases(__file__, "object_lives.txt", "lawful"))
def test_a_lawful_life_is_not_disputed(events: str) -> None:
    found, _ = follow(events)
    assert not any(map(found.count, ITEMS))


@pytest.mark.parametrize(
    ("resource", "events", "doubt"), text_tables.cases(__file__, "object_lives.txt", "holds")
)
def test_holds_are_in_doubt(resource: str, events: str, doubt: str) -> None:
    found, _ = follow(events, has_final_list="final" in events, resource=resource)
    assert sum(map(found.count, ITEMS)) == 1
    assert found.are_holds_in_doubt is (doubt == "doubt")


DISPUTED = [
    pytest.param(item, *case.values, id=case.id)
    for item in ITEMS
    for case in text_tables.cases(__file__, "object_lives.txt", item)
]


@pytest.mark.parametrize(("item", "events", "text"), DISPUTED)
def test_a_contradiction_is_named(item: str, events: str, text: str) -> None:
    found, _ = follow(events)
    assert found.answer(item) == text
    others = {*ITEMS} - {item}
    assert not any(found.count(other) for other in others)


def test_objects_that_miss_in_the_final_list_are_counted() -> None:
    events = " ".join(f"ADDED:3,uid={name}" for name in "cfbdae")
    assert not follow(events)[0].count("final-objects")
    found, lives = follow(f"{events} final FINAL:3,uid=b", has_final_list=True)
    assert found.answer("final-objects") == (
        "5, first: pods with uid a were never deleted, but are missing in the final list"
    )
    assert (lives.births, lives.finals) == (6, 1)


def test_an_older_version_does_not_replace_a_newer_one() -> None:
    found, _ = follow("ADDED:3 MODIFIED:5 MODIFIED:4 final FINAL:5")
    assert found.count("lives") == 1
    assert found.count("final-objects") == 0


def test_the_same_version_again_does_not_replace_the_one_before() -> None:
    found, _ = follow("ADDED:3 relist LISTED:3,phase=Failed final FINAL:3")
    assert found.count("lives") == 1
    assert found.count("final-objects") == 0
